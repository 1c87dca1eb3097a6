// SPDX-License-Identifier: Apache-2.0 OR MIT
// 64 threads that are all alive at once: they wait for each other, share a lock, a map and a queue, and one is interrupted.

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;

public class Threads {
    static final int COUNT = 64;
    static final Object LOCK = new Object();
    static int guarded;

    public static void main(String[] arguments) throws Exception {
        CyclicBarrier all = new CyclicBarrier(COUNT);
        AtomicLong sum = new AtomicLong();
        ConcurrentHashMap<Integer, String> names = new ConcurrentHashMap<>();
        LinkedBlockingQueue<Integer> queue = new LinkedBlockingQueue<>();
        ThreadLocal<Integer> own = new ThreadLocal<>();
        Thread[] threads = new Thread[COUNT];
        for (int i = 0; i < COUNT; i++) {
            int number = i;
            threads[i] = new Thread(() -> {
                try {
                    own.set(number);
                    all.await();
                    for (int step = 0; step < 1000; step++) {
                        sum.addAndGet(step % (own.get() + 1));
                        synchronized (LOCK) {
                            guarded++;
                        }
                    }
                    names.put(number, Thread.currentThread().getName());
                    all.await();
                    queue.put(number);
                } catch (Exception exception) {
                    System.out.println(exception);
                }
            }, "thread " + i);
            threads[i].start();
        }
        long taken = 0;
        for (int i = 0; i < COUNT; i++) {
            taken += queue.take();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Thread sleeper = new Thread(() -> {
            try {
                Thread.sleep(1_000_000);
            } catch (InterruptedException interruption) {
                System.out.println("interrupted");
            }
        });
        sleeper.start();
        sleeper.interrupt();
        sleeper.join();
        System.gc();
        System.out.println(sum + " " + guarded + " " + names.size() + " " + names.get(63) + " " + taken);
        System.exit(3);
    }
}
