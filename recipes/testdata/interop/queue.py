# kazoo's side of a queue: reads one verb and item per line, and answers each with a line.
import logging
import sys

from kazoo.client import KazooClient
from kazoo.recipe.queue import LockingQueue

logging.basicConfig(level=logging.ERROR)
client = KazooClient(hosts=sys.argv[1])
client.start()
queue = LockingQueue(client, sys.argv[2])
for line in sys.stdin:
    verb, _, item = line.strip().partition(" ")
    if verb == "put":
        queue.put(item.encode())
        print("put", flush=True)
    elif verb == "get":
        print(queue.get(timeout=20).decode(), flush=True)
    elif verb == "consume":
        print(queue.consume(), flush=True)
client.stop()
