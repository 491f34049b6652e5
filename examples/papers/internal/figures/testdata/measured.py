"""What the figures of Amela et al. take from a machine at hand: measured.py [seconds]

elements: how long Python takes for an element of a matrix that it takes apart as the published QR
    does (splitMatrix): an access, an append, and a matrix of the lists.
pickle:   how long Pickle takes for a byte, in a file in memory, and how much of that it computes;
    and how fast a core copies memory. python27.py measures the Pickle of the paper.
beside:   a product of 4096 by 4096 on T threads, and a process that pickles, beside one another on
    all cores; T is 1, 2, 4 and 8 halves of them. LD_LIBRARY_PATH picks the library.
tasks:    two processes that do all that tasks of figure 15 do, on T threads each.
"""
import os
import pickle
import subprocess
import sys
import time

import numpy as np

FILE = "/dev/shm/measured.%d" % os.getpid()


def elements(side=1024):
    matrix, parts = np.matrix(np.random.random((2 * side, 2 * side))), []
    begin = time.perf_counter()
    for i in range(2):
        parts.append([])
        for j in range(2):
            part = []
            for k in range(side):
                part.append([])
                for w in range(side):
                    part[k].append(matrix[i * side + k, j * side + w])
            parts[i].append(np.matrix(part))
    return (time.perf_counter() - begin) / (4 * side**2)


def write(block, name=""):
    with open(FILE + name, "wb") as f:
        pickle.dump(block, f, 4)


def read(name=""):
    with open(FILE + name, "rb") as f:
        return pickle.load(f)


def once(block):
    write(block)
    read()


def copies(side=2896):
    a, b = (np.ones((side, side)) for _ in range(2))
    begin = time.perf_counter()
    np.copyto(b, a)
    return a.nbytes / (time.perf_counter() - begin)


def task():
    c, a, b = read("c"), read("a"), read("b")
    c += a * b
    write(c, "c")


def rate(what, seconds):
    """How often what happens in a second, once somebody says so."""
    what()
    print("ready", flush=True)
    sys.stdin.readline()
    begin, times = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        what()
        times += 1
    print(times / (time.perf_counter() - begin), flush=True)


def side_by_side(threads, *jobs):
    env = dict(os.environ, OPENBLAS_NUM_THREADS=str(threads), OMP_NUM_THREADS=str(threads))
    all = [subprocess.Popen([sys.executable, __file__, SECONDS, job], env=env, text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE) for job in jobs]
    for p in all:
        p.stdout.readline()
    for p in all:
        p.stdin.write("go\n")
        p.stdin.flush()
    return [float(p.stdout.readline()) for p in all]


SECONDS = sys.argv[1] if len(sys.argv) > 1 else "2.5"
if len(sys.argv) > 2:
    if sys.argv[2] == "product":
        a, b, c = (np.random.random((4096, 4096)) for _ in range(3))
        rate(lambda: np.dot(a, b, out=c), float(SECONDS))
    elif sys.argv[2] == "task":
        for name in "abc":
            write(np.matrix(np.random.random((4096, 4096))), name)
        rate(task, float(SECONDS))
        for name in "abc":
            os.remove(FILE + name)
    else:
        block = np.random.random((2048, 2048))
        rate(lambda: once(block), float(SECONDS))
        os.remove(FILE)
    sys.exit()

print("elements: %.0f ns" % (1e9 * min(elements() for _ in range(2))))
block = np.random.random((4096, 4096))
begin, cpu = time.perf_counter(), time.process_time()
once(block)
wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
os.remove(FILE)
print("pickle: %.2f ns a byte to write and to read, %.0f %% of it computing; a core copies %.1f GB/s" % (
    1e9 * wall / block.nbytes, 100 * cpu / wall, max(copies() for _ in range(20)) / 1e9))
cores = len(os.sched_getaffinity(0))
for over in 1, 2, 4, 8:
    threads = max(cores // 2, 1) * over
    alone, = side_by_side(threads, "product")
    file, = side_by_side(threads, "pickle")
    product, files = side_by_side(threads, "product", "pickle")
    print("beside, %d threads: product %.0f of %.0f GFLOP/s, pickle %.2f of %.2f" % (
        threads, product * 2e-9 * 4096**3, alone * 2e-9 * 4096**3, files, file), flush=True)
for over in 1, 2, 4, 8:
    threads = max(cores // 2, 1) * over
    print("tasks, %d threads: %.1f GFLOP/s" % (threads, sum(side_by_side(threads, "task", "task")) * 2e-9 * 4096**3), flush=True)
