import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Version;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.leader.LeaderElectionSupport;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;
import org.apache.zookeeper.recipes.queue.DistributedQueue;

/** A driver of zkbench for ZooKeeper's own recipes: WriteLock and DistributedQueue, or, as a lock that its leader holds, LeaderElectionSupport. */
public class Driver {
    /** The arguments, which docs/drivers.md describes. */
    static final String ELECTION = "election", CLOSE = "close", LISTENER = "listener";

    static Set<String> arguments;

    static final ScheduledExecutorService CLOCK = Executors.newSingleThreadScheduledExecutor(Serve::daemon);

    /** What can be acquired, as the recipes offer it: a call that does not wait, and a listener that is told later. */
    abstract static class Contended {
        volatile CountDownLatch told = new CountDownLatch(1); // of the attempt that an application waits for
        volatile boolean held;
        volatile boolean failed; // the listener was told of a failure

        /** Asks for it, or, by calling the listener before it returns, is granted it. */
        abstract void ask() throws Exception;

        /** Gives it up, whether it was granted or not. */
        abstract void giveUp() throws Exception;

        /** Returns the znode of a grant, if the recipe tells. */
        abstract String node();

        void granted() {
            held = true;
            told.countDown();
        }

        /** Waits for a grant, and otherwise returns the error of the reply. */
        String acquire(Serve.Task task) throws Exception {
            told = new CountDownLatch(1);
            held = failed = false;
            ask();
            if (task.canceled) {
                told.countDown(); // it may have been canceled before there was this latch
            }
            if (task.limited()) {
                told.await(task.deadlineMS(), TimeUnit.MILLISECONDS);
            } else {
                told.await();
            }
            if (held) {
                return null;
            }
            if (failed) {
                throw new IllegalStateException("the listener is told FAILED");
            }
            giveUp();
            return task.canceled ? "canceled" : "timeout";
        }
    }

    static class Lock extends Contended implements LockListener {
        final Client client;
        final String path;
        WriteLock lock;

        Lock(Client client, String path) {
            this.client = client;
            this.path = path;
            renew();
        }

        void renew() {
            lock = new WriteLock(client.zk, path, ZooDefs.Ids.OPEN_ACL_UNSAFE, this);
        }

        @Override
        public void lockAcquired() {
            granted();
        }

        @Override
        public void lockReleased() {
        }

        @Override
        void ask() throws Exception {
            lock.lock();
        }

        /** With CLOSE, no watch of the lock can call it again: lock() waits for the monitor, and does nothing on a closed one. */
        @Override
        void giveUp() {
            synchronized (lock) {
                try {
                    lock.unlock();
                } finally {
                    if (arguments.contains(CLOSE)) {
                        lock.close();
                        renew();
                    }
                }
            }
        }

        @Override
        String node() {
            return lock.getId();
        }
    }

    static class Election extends Contended {
        final LeaderElectionSupport support = new LeaderElectionSupport();

        Election(Client client, String path) {
            support.setZooKeeper(client.zk);
            support.setRootNodeName(path);
            support.setHostName("zkbench-" + client.session);
            support.addListener(event -> {
                switch (event) {
                    case ELECTED_COMPLETE:
                        granted();
                        break;
                    case FAILED:
                        failed = true;
                        told.countDown();
                        break;
                    default:
                }
            });
        }

        @Override
        void ask() {
            support.start();
        }

        @Override
        void giveUp() {
            failed = false;
            support.stop();
            if (failed) {
                throw new IllegalStateException("the listener is told FAILED");
            }
        }

        @Override
        String node() {
            return null;
        }
    }

    static class Client extends Serve.Client {
        final Map<String, Contended> contended = new ConcurrentHashMap<>();
        final Map<String, DistributedQueue> queues = new ConcurrentHashMap<>();
        ZooKeeper zk;

        @Override
        long open(String servers, int timeoutMS) throws Exception {
            CountDownLatch connected = new CountDownLatch(1);
            zk = new ZooKeeper(servers, timeoutMS, event -> {
                if (event.getState() == KeeperState.SyncConnected && connected.getCount() > 0) {
                    connected.countDown();
                } else {
                    tell(event);
                }
            });
            if (!connected.await(20, TimeUnit.SECONDS)) {
                zk.close();
                throw new IllegalStateException("not connected within 20 s");
            }
            return zk.getSessionId();
        }

        /** Passes on what ZooKeeper tells the watcher of an application's session; the recipes themselves tell none of it. */
        void tell(WatchedEvent event) {
            if (arguments.contains(LISTENER) || event.getType() != EventType.None) {
                return;
            }
            switch (event.getState()) {
                case SyncConnected -> tell("connected");
                case Disconnected -> tell("suspended");
                case Expired -> tell("lost");
                default -> { }
            }
        }

        @Override
        void close() throws Exception {
            zk.close();
        }

        /** Interrupts only a take: an acquisition asks, and gives up, without being disturbed. */
        @Override
        void cancel(Serve.Task task) {
            switch (task.op()) {
                case "take" -> task.interrupt();
                case "acquire" -> of(task).told.countDown();
                default -> { }
            }
        }

        @Override
        String carryOut(Serve.Task task, ObjectNode reply) throws Exception {
            try {
                switch (task.op()) {
                    case "put":
                        queue(task).offer(task.request.get("item").binaryValue());
                        return null;
                    case "take":
                        return take(task, reply);
                    case "acquire":
                        return acquire(task, reply);
                    case "release":
                        return release(task);
                    default:
                        return "unsupported";
                }
            } catch (KeeperException.SessionExpiredException e) {
                return "lost";
            }
        }

        DistributedQueue queue(Serve.Task task) {
            return queues.computeIfAbsent(task.path(), at -> new DistributedQueue(zk, at, ZooDefs.Ids.OPEN_ACL_UNSAFE));
        }

        Contended of(Serve.Task task) {
            return contended.computeIfAbsent(task.path(), at -> arguments.contains(ELECTION) ? new Election(this, at) : new Lock(this, at));
        }

        String acquire(Serve.Task task, ObjectNode reply) throws Exception {
            String error = of(task).acquire(task);
            if (error == null) {
                reply.put("node", of(task).node());
            }
            return error;
        }

        String release(Serve.Task task) throws Exception {
            Contended it = of(task);
            if (!it.held) {
                return "not-held";
            }
            it.held = false;
            it.giveUp();
            return null;
        }

        /** Takes an item. An interrupt while the library waits for the reply to a delete may have lost one: the exception says where it was. */
        String take(Serve.Task task, ObjectNode reply) throws Exception {
            ScheduledFuture<?> deadline = task.limited() ? CLOCK.schedule(task::interrupt, task.deadlineMS(), TimeUnit.MILLISECONDS) : null;
            try {
                reply.put("item", queue(task).take());
                return null;
            } catch (InterruptedException e) {
                if (Arrays.stream(e.getStackTrace()).anyMatch(at -> at.getClassName().equals(ZooKeeper.class.getName()) && at.getMethodName().equals("delete"))) {
                    reply.put("message", "interrupted while an item was removed");
                    return "failed";
                }
                return task.canceled ? "canceled" : "timeout";
            } finally {
                if (deadline != null) {
                    deadline.cancel(false);
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        arguments = Set.of(args);
        String group = "org.apache.zookeeper";
        String version = Serve.version(WriteLock.class, group, "zookeeper-recipes-lock");
        for (String other : List.of(Version.getVersion(), Serve.version(DistributedQueue.class, group, "zookeeper-recipes-queue"),
            Serve.version(LeaderElectionSupport.class, group, "zookeeper-recipes-election"))) {
            if (!other.equals(version)) {
                System.err.println("jars of ZooKeeper " + version + " and " + other + " are mixed; set ZOOKEEPER_RECIPES_JARS to a directory with those of one version");
                System.exit(1);
            }
        }
        if (!Set.of(ELECTION, CLOSE, LISTENER).containsAll(arguments)) {
            System.err.println("unknown argument in " + arguments + " (expected any of " + ELECTION + ", " + CLOSE + " and " + LISTENER + ")");
            System.exit(1);
        }
        String name = arguments.contains(ELECTION) ? "zookeeper-recipes election" : "zookeeper-recipes";
        Serve.serve(name, version, arguments.contains(ELECTION) ? List.of("lock") : List.of("lock", "queue"), List.of(), Client::new);
    }
}
