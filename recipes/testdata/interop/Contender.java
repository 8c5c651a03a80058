import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.net.Socket;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryNTimes;

/**
 * Contenders of Apache Curator's locks, each with its own session, controlled by the arbiter in recipes/interop_arbiter_test.go.
 * Arguments: the servers, the lock's path, the arbiter's host, its port, the number of contenders.
 */
public final class Contender implements Runnable {
    private final String servers, path, host;
    private final int port;

    private Contender(String servers, String path, String host, int port) {
        this.servers = servers;
        this.path = path;
        this.host = host;
        this.port = port;
    }

    public static void main(String[] args) throws InterruptedException {
        Thread.setDefaultUncaughtExceptionHandler((thread, fault) -> {
            fault.printStackTrace();
            Runtime.getRuntime().halt(1);
        });
        Thread[] contenders = new Thread[Integer.parseInt(args[4])];
        for (int i = 0; i < contenders.length; i++) {
            contenders[i] = new Thread(new Contender(args[0], args[1], args[2], Integer.parseInt(args[3])), "contender " + i);
            contenders[i].start();
        }
        for (Thread contender : contenders) {
            contender.join();
        }
    }

    @Override
    public void run() {
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(servers, 30_000, 30_000, new RetryNTimes(10, 100));
                Arbiter arbiter = new Arbiter(host, port)) {
            client.start();
            client.blockUntilConnected();
            InterProcessMutex mutex = new InterProcessMutex(client, path);
            InterProcessReadWriteLock shared = new InterProcessReadWriteLock(client, path);
            arbiter.ask("join curator");
            for (String verb; !(verb = arbiter.ask("next")).equals("end");) {
                InterProcessMutex lock;
                switch (verb) {
                    case "acquire": lock = mutex; break;
                    case "read": lock = shared.readLock(); break;
                    case "write": lock = shared.writeLock(); break;
                    default: throw new IOException("unknown verb " + verb);
                }
                lock.acquire();
                arbiter.ask("enter " + znode(lock));
                arbiter.ask("leave");
                lock.release();
            }
        } catch (Exception fault) {
            throw new IllegalStateException(fault);
        }
    }

    /** The name of the znode with which this thread holds the lock; Curator shows its path to subclasses only. */
    private static String znode(InterProcessMutex lock) throws ReflectiveOperationException {
        Method path = InterProcessMutex.class.getDeclaredMethod("getLockPath");
        path.setAccessible(true);
        String held = (String) path.invoke(lock);
        return held.substring(held.lastIndexOf('/') + 1);
    }

    /** One contender's connection to the arbiter: each question waits for its answer. */
    private static final class Arbiter implements AutoCloseable {
        private final Socket socket;
        private final BufferedReader in;
        private final PrintWriter out;

        Arbiter(String host, int port) throws IOException {
            socket = new Socket(host, port);
            socket.setTcpNoDelay(true);
            in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
            out = new PrintWriter(new OutputStreamWriter(socket.getOutputStream()));
        }

        String ask(String line) throws IOException {
            out.print(line + "\n");
            out.flush();
            String answer = in.readLine();
            if (answer == null) {
                throw new IOException("the arbiter has hung up");
            }
            return answer;
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }
}
