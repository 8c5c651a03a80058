"""Contenders of kazoo's locks, each with its own session, controlled by the arbiter in recipes/interop_arbiter_test.go.

Arguments: the servers, the lock's path, the arbiter's host, its port, the number of contenders, and the extra_lock_patterns.
"""
import os
import socket
import sys
import threading
import traceback

from kazoo.client import KazooClient


def contend(servers, path, arbiter, patterns):
    client = KazooClient(hosts=servers, timeout=30)
    client.start(timeout=60)
    locks = {
        "acquire": client.Lock(path, extra_lock_patterns=patterns),
        "read": client.ReadLock(path, extra_lock_patterns=patterns),
        "write": client.WriteLock(path, extra_lock_patterns=patterns),
    }
    with socket.create_connection(arbiter) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answers = line.makefile("r")

        def ask(question):
            line.sendall((question + "\n").encode())
            answer = answers.readline().rstrip("\n")
            if not answer:
                raise EOFError("the arbiter has hung up")
            return answer

        ask("join kazoo")
        while (verb := ask("next")) != "end":
            lock = locks[verb]
            if not lock.acquire():
                raise RuntimeError(verb + " was refused")
            ask("enter " + lock.node)
            ask("leave")
            lock.release()
    client.stop()
    client.close()


def run(*args):
    try:
        contend(*args)
    except BaseException:
        traceback.print_exc()
        os._exit(1)  # a contender that fails must not leave the others waiting for it


def main():
    servers, path, host, port, contenders, *patterns = sys.argv[1:]
    threads = [threading.Thread(target=run, args=(servers, path, (host, int(port)), patterns)) for _ in range(int(contenders))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
