import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.drivers.TracerDriver;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.retry.RetryOneTime;

/** Curator's side of a double barrier of four, with the protocol of double_barrier.py. */
public class DoubleBarrierParty {
    interface Work {
        void run() throws Exception;
    }

    static class Member {
        final CuratorFramework client;
        final DistributedDoubleBarrier barrier;
        volatile String state = "new";
        volatile CountDownLatch gate = new CountDownLatch(0);
        Thread thread;

        Member(String servers, String path) throws Exception {
            client = CuratorFrameworkFactory.newClient(servers, new RetryOneTime(100));
            client.start();
            client.blockUntilConnected();
            barrier = new DistributedDoubleBarrier(client, path, 4);
            client.getZookeeperClient().setTracerDriver(new TracerDriver() { // called by the thread that made the request, after its reply
                public void addTrace(String name, long time, TimeUnit unit) {
                    if (name.startsWith("CreateBuilderImpl")) {
                        try {
                            gate.await();
                        } catch (InterruptedException e) {
                            throw new IllegalStateException(e);
                        }
                    }
                }

                public void addCount(String name, int increment) {}
            });
        }

        String begin(String during, Work work, String after) {
            state = during;
            thread = new Thread(() -> {
                try {
                    work.run();
                    state = after;
                } catch (Exception e) {
                    state = "failed: " + e;
                }
            });
            thread.setDaemon(true);
            thread.start();
            return "begun";
        }

        /** Opens the gate once the member has been notified: it misses that notification, because it does not wait yet. */
        String go() throws Exception {
            var notified = DistributedDoubleBarrier.class.getDeclaredField("hasBeenNotified");
            notified.setAccessible(true);
            while (!((AtomicBoolean) notified.get(barrier)).get()) {
                Thread.sleep(5);
            }
            client.setData().forPath("/"); // a write, unlike a sync, makes sure that its server has seen what the others did
            synchronized (barrier) { // the notifier has left its synchronized block
                gate.countDown();
            }
            return "done";
        }

        /** Whether it waits inside enter, rather than for a server's reply or at the gate. */
        boolean waits() {
            StackTraceElement[] stack = thread.getStackTrace();
            for (int i = 1; i < stack.length; i++) {
                if (stack[i].getMethodName().equals("internalEnter")) {
                    return stack[i - 1].getClassName().equals("java.lang.Object");
                }
            }
            return false;
        }

        /**
         * Waits until it has handled what the servers have announced so far. Curator notifies from a thread of its own: the notification of the
         * marker's creation, if it comes late, would end a wait of leave.
         */
        void settle() throws Exception {
            CountDownLatch announced = new CountDownLatch(1);
            client.setData().inBackground((c, event) -> announced.countDown()).forPath("/"); // a write: its server has seen what the others did
            announced.await();
            client.runSafe(() -> {}).get();
        }

        String does(String verb) throws Exception {
            return switch (verb) {
                case "enter" -> begin("entering", barrier::enter, "inside");
                case "leave" -> {
                    settle();
                    yield begin("leaving", barrier::leave, "out");
                }
                case "give-up" -> barrier.enter(1, TimeUnit.SECONDS) ? "inside" : "refused";
                case "halt" -> {
                    gate = new CountDownLatch(1);
                    yield "done";
                }
                case "go" -> go();
                case "die" -> {
                    client.close();
                    yield "done";
                }
                case "is" -> waits() ? "waiting" : state;
                default -> throw new IllegalArgumentException(verb);
            };
        }
    }

    public static void main(String[] args) throws Exception {
        Map<String, Member> members = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("member")) {
                members.put(words[1], new Member(args[0], args[1]));
                System.out.println(members.get(words[1]).client.getZookeeperClient().getZooKeeper().getSessionId());
            } else {
                System.out.println(members.get(words[1]).does(words[0]));
            }
        }
        System.exit(0);
    }
}
