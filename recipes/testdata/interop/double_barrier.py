"""kazoo's side of a double barrier of four: does what it reads on its input, one verb and member a line, and answers each with a line.

Arguments: the servers and the barrier's path. The verbs are told in recipes/interop_barrier_test.go.
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
            self.client.set("/", b"")  # its server may lag behind what the others did, also after a sync; not after a write
            self.gate.set()
            return "done"
        if verb == "die":
            self.client.stop()
            return "done"
        return "waiting" if self.waits() else self.state

    def waits(self):
        """Whether it waits for the marker: the last that it does in entering is to wait for an event of its own."""
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
