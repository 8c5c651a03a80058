import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/** The driver's side of zkbench's protocol (docs/drivers.md), for drivers in Java: everything but the calls of the library. */
class Serve {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Map<Long, Client> CLIENTS = new ConcurrentHashMap<>();
    static final Map<Long, Task> TASKS = new ConcurrentHashMap<>();

    /** A session of the library. Its requests are carried out one after the other, all by the same thread. */
    abstract static class Client {
        final ExecutorService thread = Executors.newSingleThreadExecutor(Serve::daemon);
        long session; // its number

        /** Opens the session and returns the id of the ZooKeeper session. */
        abstract long open(String servers, int timeoutMS) throws Exception;

        /** Carries a task out, and returns the error of the reply; null: none. Where the task waits, it obeys its deadline. */
        abstract String carryOut(Task task, ObjectNode reply) throws Exception;

        /** Ends the wait of a canceled task that is being carried out. */
        void cancel(Task task) {
            task.interrupt();
        }

        /** Ends the session. */
        abstract void close() throws Exception;

        /** Passes on what the library reports to its users: suspended, connected or lost. */
        void tell(String event) {
            say(JSON.createObjectNode().put("event", event).put("session", session));
        }
    }

    /** A request to a session. */
    static class Task implements Runnable {
        final JsonNode request;
        final Client client;
        Thread thread;
        volatile boolean canceled;

        Task(JsonNode request, Client client) {
            this.request = request;
            this.client = client;
        }

        String op() {
            return request.get("op").asText();
        }

        String path() {
            return request.get("path").asText();
        }

        boolean limited() {
            return request.has("deadline_ms");
        }

        long deadlineMS() {
            return request.get("deadline_ms").asLong();
        }

        synchronized boolean begin() {
            thread = Thread.currentThread();
            return !canceled;
        }

        synchronized void end() {
            thread = null;
            Thread.interrupted(); // of an interrupt that came too late
        }

        /** Interrupts the thread that carries the task out, if it is still at it. */
        synchronized void interrupt() {
            if (thread != null) {
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
            } catch (Exception | LinkageError e) { // the latter: jars that do not fit together
                reply.put("error", "failed").put("message", e.toString());
            }
            end();
            TASKS.remove(request.get("id").asLong());
            say(reply.put("end", System.nanoTime()));
        }
    }

    static ObjectNode reply(JsonNode request) {
        return JSON.createObjectNode().put("id", request.get("id").asLong());
    }

    static synchronized void say(ObjectNode line) {
        System.out.println(line);
        System.out.flush();
    }

    static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    /** Returns the version that a jar of Maven's says; of is a class in it. */
    static String version(Class<?> of, String group, String artifact) throws IOException {
        String file = "/META-INF/maven/" + group + "/" + artifact + "/pom.properties";
        Properties properties = new Properties();
        try (InputStream in = of.getResourceAsStream(file)) {
            if (in == null) {
                throw new IOException("no jar on the class path has " + file);
            }
            properties.load(in);
        }
        return properties.getProperty("version");
    }

    static void openOrClose(JsonNode request, Supplier<Client> clients) {
        long session = request.get("session").asLong();
        ObjectNode reply = reply(request);
        try {
            if (request.get("op").asText().equals("open")) {
                Client client = clients.get();
                client.session = session;
                reply.put("zk", client.open(request.get("servers").asText(), request.get("timeout_ms").asInt()));
                CLIENTS.put(session, client);
            } else {
                Client client = CLIENTS.remove(session);
                client.thread.shutdown();
                client.close();
            }
        } catch (Exception | LinkageError e) {
            reply.put("error", "failed").put("message", e.toString());
        }
        say(reply);
    }

    static void take(JsonNode request, String name, String version, List<String> can, List<String> needs, Supplier<Client> clients) {
        switch (request.get("op").asText()) {
            case "hello":
                ObjectNode hello = reply(request).put("protocol", 1).put("name", name).put("version", version).put("store", "zookeeper").put("fifo", true);
                can.forEach(hello.putArray("can")::add);
                needs.forEach(hello.putArray("needs")::add);
                say(hello.put("now", System.nanoTime()));
                break;
            case "cancel":
                Task waiting = TASKS.get(request.get("of").asLong());
                if (waiting != null) {
                    waiting.canceled = true;
                    waiting.client.cancel(waiting);
                }
                break;
            case "open":
            case "close":
                daemon(() -> openOrClose(request, clients)).start();
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

    /** Serves requests until the input ends, then closes all sessions. needs is what not all versions of servers can do. Locks of the library are znodes, and its queues are in the order of the puts. */
    static void serve(String name, String version, List<String> can, List<String> needs, Supplier<Client> clients) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            take(JSON.readTree(line), name, version, can, needs, clients);
        }
        CLIENTS.values().parallelStream().forEach(client -> {
            try {
                client.close();
            } catch (Exception e) {
                System.err.println("close session " + client.session + ": " + e);
            }
        });
        System.exit(0);
    }
}
