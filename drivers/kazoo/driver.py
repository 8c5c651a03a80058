#!/usr/bin/python3
"""A driver of zkbench for kazoo's Lock, ReadLock, WriteLock, Semaphore and LockingQueue: docs/drivers.md."""
import base64, json, sys, threading, time

try:
    import kazoo
except ImportError:
    sys.exit("kazoo is not installed here ('make drivers' installs it; or apt-get install python3-kazoo, or pip install kazoo)")
from kazoo.client import KazooClient, KazooState
from kazoo.recipe.lock import Semaphore
from kazoo.recipe.queue import LockingQueue
from kazoo.exceptions import CancelledError, ConnectionClosedError, LockTimeout, NoNodeError, SessionExpiredError

speaking, clients, waiting = threading.Lock(), {}, {}  # waiting: the acquisitions under way, by the id of their request


def say(**reply):
    with speaking:
        print(json.dumps(reply), flush=True)


class Permit:
    """A Semaphore with the attributes of a Lock. It stands between the Semaphore and the client, because only there the lock that each acquisition
    waits for first can be had, to cancel it."""

    def __init__(self, zk, path, permits):
        self.zk, self.cancelled, self.first = zk, False, None
        self.semaphore = Semaphore(self, path, max_leases=permits)
        self.path, self.node = self.semaphore.create_path.rsplit("/", 1)
        self.acquire, self.release = self.semaphore.acquire, self.semaphore.release

    def __getattr__(self, name):
        return getattr(self.zk, name)

    def Lock(self, *args):
        self.first = self.zk.Lock(*args)
        self.first.cancelled = self.cancelled
        return self.first

    def cancel(self):
        self.cancelled = True
        self.semaphore.cancel()
        if self.first:
            self.first.cancel()


class Items:
    """A LockingQueue whose get can be cancelled. It stands between the queue and the client, and the client's handler, because only there the event that a
    get waits for can be had, and the znode of an item that was put."""

    def __init__(self, zk, path):
        self.zk, self.handler, self.cancelled, self.event, self.put_as = zk, self, False, None, None
        self.queue = LockingQueue(self, path)

    def __getattr__(self, name):
        return getattr(self.zk, name)

    def create(self, *args, **kwargs):
        self.put_as = self.zk.create(*args, **kwargs)
        return self.put_as

    def event_object(self):
        self.event = self.zk.handler.event_object()
        if self.cancelled:
            self.event.set()
        return self.event

    def lock_object(self):
        return self.zk.handler.lock_object()

    def cancel(self):
        self.cancelled = True
        if self.event:
            self.event.set()


class Client:
    def __init__(self, number, request):
        def listen(state):
            say(event={KazooState.SUSPENDED: "suspended", KazooState.CONNECTED: "connected", KazooState.LOST: "lost"}[state], session=number)

        self.listen, self.locks, self.queues = listen, {}, {}
        self.zk = KazooClient(hosts=request["servers"], timeout=request["timeout_ms"] / 1000)
        self.zk.start(timeout=20)
        self.zk.add_listener(listen)

    def items(self, request):
        if request["path"] not in self.queues:
            self.queues[request["path"]] = Items(self.zk, request["path"])
        return self.queues[request["path"]]

    def put(self, request):
        items = self.items(request)
        items.queue.put(base64.b64decode(request["item"]))
        return {"node": items.put_as}

    def take(self, request):
        items, deadline = self.items(request), request.get("deadline_ms")
        item = items.queue.get(timeout=deadline / 1000 if deadline else None)
        if item is None:
            return {"error": "canceled" if items.cancelled else "timeout"}
        return {"item": base64.b64encode(item).decode(), "node": items.queue._entries_path + "/" + items.queue.processing_element[0]}

    def finish(self, request):
        try:
            return {} if self.items(request).queue.consume() else {"error": "not-held"}
        except NoNodeError:  # the claim is gone
            return {"error": "not-held"}

    def lock(self, request):
        kind, path, permits = request.get("mode"), request["path"], request.get("permits")
        if (kind, path) not in self.locks:
            if permits:
                self.locks[kind, path] = Permit(self.zk, path, permits)
            else:
                self.locks[kind, path] = {"read": self.zk.ReadLock, "write": self.zk.WriteLock, None: self.zk.Lock}[kind](path)
        return self.locks[kind, path]

    def acquire(self, request):
        lock, deadline = self.lock(request), request.get("deadline_ms")
        if not lock.acquire(timeout=deadline / 1000 if deadline else None):
            return {"error": "timeout"}
        return {"node": lock.path + "/" + lock.node}

    def try_(self, request):
        lock = self.lock(request)
        return {"node": lock.path + "/" + lock.node} if lock.acquire(blocking=False) else {"error": "held"}

    def release(self, request):
        return {} if self.lock(request).release() else {"error": "not-held"}

    def close(self, request):
        self.zk.remove_listener(self.listen)
        self.zk.stop()
        self.zk.close()
        return {}


def carry_out(request):
    op, reply = request["op"], {"id": request["id"]}
    client = clients.get(request.get("session"))
    reply["start"] = time.monotonic_ns()
    try:
        if op == "open":
            clients[request["session"]] = client = Client(request["session"], request)
            reply["zk"] = client.zk.client_id[0]
        elif op in ("acquire", "try", "release", "put", "take", "finish", "close"):
            reply.update(getattr(client, "try_" if op == "try" else op)(request))
        else:
            reply["error"] = "unsupported"
    except LockTimeout:
        reply["error"] = "timeout"
    except CancelledError:
        reply["error"] = "canceled"
    except (ConnectionClosedError, SessionExpiredError) as e:
        reply.update(error="lost", message=repr(e))
    except Exception as e:
        reply.update(error="failed", message=repr(e))
    reply["end"] = time.monotonic_ns()
    waiting.pop(request["id"], None)
    say(**reply)


for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "hello":
        say(id=request["id"], protocol=1, name="kazoo", version=kazoo.__version__, store="zookeeper", claims=True,
            can=["lock", "read-write", "semaphore", "queue", "try"], now=time.monotonic_ns())
    elif request["op"] == "cancel":
        lock = waiting.get(request["of"])
        if lock:
            lock.cancel()
    else:
        if request["op"] in ("acquire", "take") and request["session"] in clients:
            client = clients[request["session"]]
            waiting[request["id"]] = lock = client.items(request) if request["op"] == "take" else client.lock(request)
            lock.cancelled = False  # a cancellation that came after the last grant is still in the lock
        threading.Thread(target=carry_out, args=(request,), daemon=True).start()
for client in list(clients.values()):
    client.zk.stop()
