import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.retry.RetryOneTime;

/** Curator's side of a queue: reads one verb and item per line, and answers each with a line. */
public class QueueParty {
    public static void main(String[] args) throws Exception {
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new RetryOneTime(100))) {
            client.start();
            SimpleDistributedQueue queue = new SimpleDistributedQueue(client, args[1]);
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ", 2);
                switch (words[0]) {
                    case "put" -> System.out.println(queue.offer(words[1].getBytes()) ? "put" : "refused");
                    case "get" -> System.out.println(new String(queue.poll(20, TimeUnit.SECONDS)));
                    case "peek" -> System.out.println(new String(queue.element()));
                    default -> throw new IllegalArgumentException(line);
                }
            }
        }
    }
}
