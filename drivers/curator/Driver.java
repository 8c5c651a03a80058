import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** A driver of zkbench for Apache Curator's InterProcessMutex, InterProcessReadWriteLock, InterProcessSemaphoreV2 and SimpleDistributedQueue. */
public class Driver {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Map<Long, Client> CLIENTS = new ConcurrentHashMap<>();
    static final Map<Long, Task> TASKS = new ConcurrentHashMap<>();

    /** How long a take waits at a time, before it looks whether it has been canceled. */
    static final long SLICE_MS = 250;

    static ObjectNode reply(JsonNode request) {
        return JSON.createObjectNode().put("id", request.get("id").asLong());
    }

    static synchronized void say(ObjectNode line) {
        System.out.println(line);
        System.out.flush();
    }

    /** A session. A mutex belongs to the thread that has acquired it, so each session has one. */
    static class Client {
        final ExecutorService thread = Executors.newSingleThreadExecutor(Driver::daemon);
        final Map<String, InterProcessMutex> mutexes = new ConcurrentHashMap<>();
        final Map<String, InterProcessReadWriteLock> shared = new ConcurrentHashMap<>();
        final Map<String, InterProcessSemaphoreV2> semaphores = new ConcurrentHashMap<>();
        final Map<String, Lease> leases = new ConcurrentHashMap<>();
        final Map<String, SimpleDistributedQueue> queues = new ConcurrentHashMap<>();
        CuratorFramework zk;

        void open(long session, JsonNode request) throws Exception {
            int timeout = request.get("timeout_ms").asInt();
            zk = CuratorFrameworkFactory.newClient(request.get("servers").asText(), timeout, 15000, new ExponentialBackoffRetry(1000, 3));
            zk.start();
            if (!zk.blockUntilConnected(20, TimeUnit.SECONDS)) {
                throw new IllegalStateException("not connected within 20 s");
            }
            zk.getConnectionStateListenable().addListener((client, state) -> {
                String event = switch (state) {
                    case SUSPENDED -> "suspended";
                    case LOST -> "lost";
                    case RECONNECTED -> "connected";
                    default -> null;
                };
                if (event != null) {
                    say(JSON.createObjectNode().put("event", event).put("session", session));
                }
            });
        }

        /** The lock that a request is about. */
        InterProcessMutex mutex(JsonNode request) {
            String path = request.get("path").asText();
            if (!request.has("mode")) {
                return mutexes.computeIfAbsent(path, at -> new InterProcessMutex(zk, at));
            }
            InterProcessReadWriteLock both = shared.computeIfAbsent(path, at -> new InterProcessReadWriteLock(zk, at));
            return request.get("mode").asText().equals("read") ? both.readLock() : both.writeLock();
        }

        /** Carries a request out that is about a permit. */
        String permit(JsonNode request) throws Exception {
            String path = request.get("path").asText();
            InterProcessSemaphoreV2 semaphore =
                semaphores.computeIfAbsent(path, at -> new InterProcessSemaphoreV2(zk, at, request.get("permits").asInt()));
            Lease lease;
            switch (request.get("op").asText()) {
                case "acquire":
                    if (!request.has("deadline_ms")) {
                        lease = semaphore.acquire();
                    } else {
                        lease = semaphore.acquire(request.get("deadline_ms").asLong(), TimeUnit.MILLISECONDS);
                    }
                    break;
                case "try":
                    lease = semaphore.acquire(0, TimeUnit.MILLISECONDS);
                    break;
                default:
                    lease = leases.remove(path);
                    if (lease != null) {
                        semaphore.returnLease(lease);
                    }
                    return lease == null ? "not-held" : null;
            }
            if (lease != null) {
                leases.put(path, lease);
                return null;
            }
            return request.get("op").asText().equals("try") ? "held" : "timeout";
        }

        /**
         * Puts an item, or takes one into the reply. Neither is interrupted: the library may have changed the queue by then, and nobody would hear of it.
         */
        String item(Task task, ObjectNode reply) throws Exception {
            SimpleDistributedQueue queue = queues.computeIfAbsent(task.request.get("path").asText(), at -> new SimpleDistributedQueue(zk, at));
            if (task.request.get("op").asText().equals("put")) {
                queue.offer(task.request.get("item").binaryValue());
                return null;
            }
            boolean limited = task.request.has("deadline_ms");
            long end = System.nanoTime() + (limited ? TimeUnit.MILLISECONDS.toNanos(task.request.get("deadline_ms").asLong()) : 0);
            while (!task.canceled) {
                long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
                boolean last = limited && left <= SLICE_MS;
                byte[] item = queue.poll(last ? Math.max(left, 0) : SLICE_MS, TimeUnit.MILLISECONDS);
                if (item != null) {
                    reply.put("item", item);
                    return null;
                } else if (last) {
                    return "timeout";
                }
            }
            return "canceled";
        }

        /** Carries a task out, and says what went wrong; null: nothing. */
        String carryOut(Task task, ObjectNode reply) throws Exception {
            JsonNode request = task.request;
            if (!task.interruptible) {
                return item(task, reply);
            }
            if (request.has("permits")) {
                return permit(request);
            }
            InterProcessMutex mutex = mutex(request);
            switch (request.get("op").asText()) {
                case "acquire":
                    if (!request.has("deadline_ms")) {
                        mutex.acquire();
                        return null;
                    }
                    return mutex.acquire(request.get("deadline_ms").asLong(), TimeUnit.MILLISECONDS) ? null : "timeout";
                case "try":
                    return mutex.acquire(0, TimeUnit.MILLISECONDS) ? null : "held";
                default:
                    mutex.release();
                    return null;
            }
        }
    }

    /** A request to a session. A cancellation interrupts it, where that is safe. */
    static class Task implements Runnable {
        final JsonNode request;
        final Client client;
        final boolean interruptible;
        Thread thread;
        volatile boolean canceled;

        Task(JsonNode request, Client client) {
            this.request = request;
            this.client = client;
            String op = request.get("op").asText();
            interruptible = !op.equals("put") && !op.equals("take");
        }

        synchronized boolean begin() {
            thread = Thread.currentThread();
            return !canceled;
        }

        synchronized void end() {
            thread = null;
            Thread.interrupted(); // of a cancellation that came too late
        }

        synchronized void cancel() {
            canceled = true;
            if (thread != null && interruptible) {
                thread.interrupt();
            }
        }

        public void run() {
            ObjectNode reply = reply(request).put("start", System.nanoTime());
            try {
                String error = begin() ? client.carryOut(this, reply) : "canceled";
                if (error != null) {
                    reply.put("error", error);
                }
            } catch (InterruptedException e) {
                reply.put("error", "canceled");
            } catch (IllegalMonitorStateException e) {
                reply.put("error", "not-held");
            } catch (Exception e) {
                reply.put("error", "failed").put("message", e.toString());
            }
            end();
            TASKS.remove(request.get("id").asLong());
            say(reply.put("end", System.nanoTime()));
        }
    }

    static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    /** The version that the jar says. */
    static String version() throws Exception {
        Properties properties = new Properties();
        try (InputStream in = InterProcessMutex.class.getResourceAsStream("/META-INF/maven/org.apache.curator/curator-recipes/pom.properties")) {
            properties.load(in);
        }
        return properties.getProperty("version");
    }

    static void openOrClose(JsonNode request) {
        long session = request.get("session").asLong();
        ObjectNode reply = reply(request);
        try {
            if (request.get("op").asText().equals("open")) {
                Client client = new Client();
                client.open(session, request);
                CLIENTS.put(session, client);
                reply.put("zk", client.zk.getZookeeperClient().getZooKeeper().getSessionId());
            } else {
                Client client = CLIENTS.remove(session);
                client.thread.shutdown();
                client.zk.close();
            }
        } catch (Exception e) {
            reply.put("error", "failed").put("message", e.toString());
        }
        say(reply);
    }

    static void take(JsonNode request) throws Exception {
        switch (request.get("op").asText()) {
            case "hello":
                ObjectNode hello = reply(request).put("protocol", 1).put("name", "curator").put("version", version()).put("store", "zookeeper").put("fifo", true);
                hello.putArray("can").add("lock").add("read-write").add("semaphore").add("queue").add("try");
                say(hello.put("now", System.nanoTime()));
                break;
            case "cancel":
                Task waiting = TASKS.get(request.get("of").asLong());
                if (waiting != null) {
                    waiting.cancel();
                }
                break;
            case "open":
            case "close":
                daemon(() -> openOrClose(request)).start();
                break;
            case "acquire":
            case "try":
            case "release":
            case "put":
            case "take":
                Client client = CLIENTS.get(request.get("session").asLong());
                Task task = new Task(request, client);
                TASKS.put(request.get("id").asLong(), task);
                client.thread.execute(task);
                break;
            default:
                say(reply(request).put("error", "unsupported"));
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            take(JSON.readTree(line));
        }
        CLIENTS.values().parallelStream().forEach(client -> client.zk.close());
        System.exit(0);
    }
}
