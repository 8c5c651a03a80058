"""kazoo's side of a double barrier of four: reads one verb and member per line, and answers each with a line.

Arguments: the servers and the barrier's path. recipes/interop_barrier_test.go describes the verbs.
"""
import linecache
import sys
import threading

from kazoo.client import KazooClient


class Member:
    def __init__(self, servers, path):
        self.client = KazooClient(hosts=servers, timeout=30)
        self.client.start(timeout=60)
        self.barrier = self.client.DoubleBarrier(path, 4)
        self.state = "new"
        self.gate = threading.Event()
        self.gate.set()
        exists = self.client.exists
        self.client.exists = lambda *args, **kwargs: self.gate.wait() and exists(*args, **kwargs)

    def begin(self, during, work, after):
        self.state = during

        def run():
            work()
            self.state = after(self.barrier)

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        return "begun"

    def do(self, verb):
        if verb == "enter":
            return self.begin("entering", self.barrier.enter, lambda b: "inside" if b.participating else "failed")
        if verb == "leave":
            return self.begin("leaving", self.barrier.leave, lambda b: "out")
        if verb == "halt":
            self.gate.clear()
            return "done"
        if verb == "go":
            self.client.set("/", b"")  # a write, unlike a sync, makes sure that its server has seen what the others did
            self.gate.set()
            return "done"
        if verb == "die":
            self.client.stop()
            return "done"
        return "waiting" if self.waits() else self.state

    def waits(self):
        """Whether it waits for the marker, which is the last step of entering."""
        frame = sys._current_frames().get(self.thread.ident) if self.state == "entering" else None
        while frame and frame.f_code.co_name != "_inner_enter":
            frame = frame.f_back
        return frame is not None and "ready.wait" in linecache.getline(frame.f_code.co_filename, frame.f_lineno)


members = {}
for line in sys.stdin:
    verb, name = line.split()
    if verb == "member":
        members[name] = Member(sys.argv[1], sys.argv[2])
        print(members[name].client.client_id[0], flush=True)
    else:
        print(members[name].do(verb), flush=True)
