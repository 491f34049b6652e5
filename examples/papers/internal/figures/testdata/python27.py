"""How long Python 2.7 takes to pickle a block as NumPy does: python2.7 python27.py

NumPy makes a string of a block, which is pickled, and copies a block out of the string that is read.
"""
import cPickle
import os
import time

FILE, SIZE = "/dev/shm/python27.%d" % os.getpid(), 1 << 27


def write(block):
    with open(FILE, "wb") as f:
        cPickle.dump(bytes(block), f, 2)


def read():
    with open(FILE, "rb") as f:
        bytearray(cPickle.load(f))


def fastest(what, *args):
    times = []
    for _ in range(5):
        begin = time.time()
        what(*args)
        times.append(time.time() - begin)
    return 1e9 * min(times) / SIZE


block = bytearray(os.urandom(1 << 20)) * (SIZE >> 20)
print("%.2f ns a byte to write, %.2f to read" % (fastest(write, block), fastest(read)))
os.remove(FILE)
