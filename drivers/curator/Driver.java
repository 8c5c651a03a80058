import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
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
    /** How long a take waits at a time, before it looks whether it has been canceled. */
    static final long SLICE_MS = 250;

    /** A session. A mutex belongs to the thread that has acquired it, so it matters that each session has one. */
    static class Client extends Serve.Client {
        final Map<String, InterProcessMutex> mutexes = new ConcurrentHashMap<>();
        final Map<String, InterProcessReadWriteLock> shared = new ConcurrentHashMap<>();
        final Map<String, InterProcessSemaphoreV2> semaphores = new ConcurrentHashMap<>();
        final Map<String, Lease> leases = new ConcurrentHashMap<>();
        final Map<String, SimpleDistributedQueue> queues = new ConcurrentHashMap<>();
        CuratorFramework zk;

        @Override
        long open(String servers, int timeoutMS) throws Exception {
            zk = CuratorFrameworkFactory.newClient(servers, timeoutMS, 15000, new ExponentialBackoffRetry(1000, 3));
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
                    tell(event);
                }
            });
            return zk.getZookeeperClient().getZooKeeper().getSessionId();
        }

        @Override
        void close() {
            zk.close();
        }

        static boolean isItem(Serve.Task task) {
            return task.op().equals("put") || task.op().equals("take");
        }

        /** Interrupts no put or take: the library may have changed the queue by then, and nobody would hear of it. */
        @Override
        void cancel(Serve.Task task) {
            if (!isItem(task)) {
                task.interrupt();
            }
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

        /** Puts an item, or takes one into the reply. */
        String item(Serve.Task task, ObjectNode reply) throws Exception {
            SimpleDistributedQueue queue = queues.computeIfAbsent(task.path(), at -> new SimpleDistributedQueue(zk, at));
            if (task.op().equals("put")) {
                queue.offer(task.request.get("item").binaryValue());
                return null;
            }
            boolean limited = task.limited();
            long end = System.nanoTime() + (limited ? TimeUnit.MILLISECONDS.toNanos(task.deadlineMS()) : 0);
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

        @Override
        String carryOut(Serve.Task task, ObjectNode reply) throws Exception {
            JsonNode request = task.request;
            if (isItem(task)) {
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

    public static void main(String[] args) throws Exception {
        Serve.serve("curator", Serve.version(InterProcessMutex.class, "org.apache.curator", "curator-recipes"),
            List.of("lock", "read-write", "semaphore", "queue", "try"), List.of("create2"), Client::new);
    }
}
