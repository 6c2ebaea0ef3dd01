package drivers;

import gradekeeper.kit.Desk;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/** Three threads that call a double one at a time, or all at once, by every means that Java has. */
public final class Locks {
    interface Guard {
        String call(Callable<String> code) throws Exception;
    }

    private static void three(Desk desk, Guard guard) {
        for (String name : new String[] {"A", "B", "C"}) {
            desk.actor(name, "r", () -> guard.call(() -> desk.ask("go", name)));
        }
        desk.join();
    }

    private static Thread daemon(Runnable code) {
        Thread thread = new Thread(code);
        thread.setDaemon(true);
        return thread;
    }

    // ---- one at a time, settled -------------------------------------------------------------

    public static void monitor(Desk desk) {
        Object lock = new Object();
        three(desk, code -> {
            synchronized (lock) {
                return code.call();
            }
        });
    }

    public static void reentrant(Desk desk) {
        ReentrantLock lock = new ReentrantLock();
        three(desk, code -> {
            lock.lock();
            try {
                return code.call();
            } finally {
                lock.unlock();
            }
        });
    }

    public static void fair(Desk desk) {
        ReentrantLock lock = new ReentrantLock(true);
        three(desk, code -> {
            lock.lockInterruptibly();
            try {
                return code.call();
            } finally {
                lock.unlock();
            }
        });
    }

    public static void timed(Desk desk) {
        ReentrantLock lock = new ReentrantLock();
        three(desk, code -> {
            if (!lock.tryLock(30, TimeUnit.SECONDS)) {
                throw new IllegalStateException();
            }
            try {
                return code.call();
            } finally {
                lock.unlock();
            }
        });
    }

    public static void write(Desk desk) {
        ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        three(desk, code -> {
            lock.writeLock().lock();
            try {
                return code.call();
            } finally {
                lock.writeLock().unlock();
            }
        });
    }

    public static void stamped(Desk desk) {
        StampedLock lock = new StampedLock();
        three(desk, code -> {
            long stamp = lock.writeLock();
            try {
                return code.call();
            } finally {
                lock.unlockWrite(stamp);
            }
        });
    }

    public static void semaphore(Desk desk) {
        Semaphore semaphore = new Semaphore(1);
        three(desk, code -> {
            semaphore.acquire();
            try {
                return code.call();
            } finally {
                semaphore.release();
            }
        });
    }

    public static void compute(Desk desk) {
        ConcurrentHashMap<String, String> map = new ConcurrentHashMap<>();
        three(desk, code -> map.compute("key", (key, old) -> {
            try {
                return code.call();
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        }));
    }

    public static void notified(Desk desk) {
        Set<String> busy = new HashSet<>();
        three(desk, code -> {
            synchronized (busy) {
                while (!busy.add("key")) {
                    busy.wait();
                }
            }
            try {
                return code.call();
            } finally {
                synchronized (busy) {
                    busy.remove("key");
                    busy.notifyAll();
                }
            }
        });
    }

    public static void condition(Desk desk) {
        ReentrantLock lock = new ReentrantLock();
        Condition free = lock.newCondition();
        AtomicBoolean busy = new AtomicBoolean();
        three(desk, code -> {
            lock.lock();
            try {
                while (!busy.compareAndSet(false, true)) {
                    free.await();
                }
            } finally {
                lock.unlock();
            }
            try {
                return code.call();
            } finally {
                lock.lock();
                busy.set(false);
                free.signal();
                lock.unlock();
            }
        });
    }

    public static void worker(Desk desk) {
        ExecutorService one = Executors.newSingleThreadExecutor(Locks::daemon);
        three(desk, code -> one.submit(code).get());
        one.shutdownNow();
    }

    public static void queue(Desk desk) {
        LinkedBlockingQueue<Runnable> queue = new LinkedBlockingQueue<>();
        Thread thread = daemon(() -> {
            try {
                for (;;) {
                    queue.take().run();
                }
            } catch (InterruptedException end) {
                return;
            }
        });
        thread.start();
        three(desk, code -> {
            CompletableFuture<String> answer = new CompletableFuture<>();
            queue.add(() -> {
                try {
                    answer.complete(code.call());
                } catch (Exception error) {
                    answer.completeExceptionally(error);
                }
            });
            return answer.get();
        });
        thread.interrupt();
    }

    /** The common pool's other workers idle with a keep-alive time. */
    public static void pool(Desk desk) {
        Object lock = new Object();
        three(desk, code -> {
            synchronized (lock) {
                return CompletableFuture.supplyAsync(() -> {
                    try {
                        return code.call();
                    } catch (Exception error) {
                        throw new IllegalStateException(error);
                    }
                }).join();
            }
        });
    }

    /** Workers of a cached pool wait a minute for work before they end. */
    public static void idle(Desk desk) throws Exception {
        ExecutorService cached = Executors.newCachedThreadPool(Locks::daemon);
        for (int i = 0; i < 4; i++) {
            cached.submit(() -> 1);
        }
        monitor(desk);
        cached.shutdownNow();
    }

    /** Each call has 32 threads beside it that wait for its end. */
    public static void crowd(Desk desk) {
        Object lock = new Object();
        three(desk, code -> {
            CountDownLatch end = new CountDownLatch(1);
            for (int i = 0; i < 32; i++) {
                daemon(() -> {
                    try {
                        end.await();
                    } catch (InterruptedException interrupt) {
                        Thread.currentThread().interrupt();
                    }
                }).start();
            }
            try {
                synchronized (lock) {
                    return code.call();
                }
            } finally {
                end.countDown();
            }
        });
    }

    /** Each call leaves a pool of 32 workers that wait a minute for more work. */
    public static void pools(Desk desk) {
        ReentrantLock lock = new ReentrantLock();
        three(desk, code -> {
            ExecutorService cached = Executors.newCachedThreadPool(Locks::daemon);
            CountDownLatch all = new CountDownLatch(32);
            for (int i = 0; i < 32; i++) {
                cached.submit(() -> {
                    all.countDown();
                    all.await();
                    return 1;
                });
            }
            all.await();
            lock.lock();
            try {
                return cached.submit(code).get();
            } finally {
                lock.unlock();
            }
        });
    }

    /** A held call that gets interrupts goes on waiting, without spinning. */
    public static void interrupted(Desk desk) {
        Object lock = new Object();
        three(desk, code -> {
            synchronized (lock) {
                Thread.currentThread().interrupt();
                String answer = code.call();
                return Thread.interrupted() ? answer : "lost";
            }
        });
    }

    // ---- all at once, settled ---------------------------------------------------------------

    public static void none(Desk desk) {
        three(desk, Callable::call);
    }

    /** Works for a while before it calls: none of the calls may be missed. */
    public static void slow(Desk desk) {
        three(desk, code -> {
            long end = System.nanoTime() + 30_000_000;
            long sum = 0;
            while (System.nanoTime() < end) {
                sum += end;
            }
            return sum == 1 ? "" : code.call();
        });
    }

    /** Hops from thread to thread before it calls, mostly asleep. */
    public static void hops(Desk desk) {
        ExecutorService threads = Executors.newFixedThreadPool(6, Locks::daemon);
        three(desk, code -> {
            for (int i = 0; i < 100; i++) {
                threads.submit(() -> 1).get();
            }
            return threads.submit(code).get();
        });
        threads.shutdownNow();
    }

    // ---- never settled ----------------------------------------------------------------------

    public static void spinning(Desk desk) {
        AtomicBoolean busy = new AtomicBoolean();
        three(desk, code -> {
            while (!busy.compareAndSet(false, true)) {
                Thread.onSpinWait();
            }
            try {
                return code.call();
            } finally {
                busy.set(false);
            }
        });
    }

    public static void napping(Desk desk) {
        AtomicBoolean busy = new AtomicBoolean();
        three(desk, code -> {
            while (!busy.compareAndSet(false, true)) {
                Thread.sleep(1);
            }
            try {
                return code.call();
            } finally {
                busy.set(false);
            }
        });
    }

    public static void waiting(Desk desk) {
        Set<String> busy = new HashSet<>();
        three(desk, code -> {
            synchronized (busy) {
                while (!busy.add("key")) {
                    busy.wait(100);
                }
            }
            try {
                return code.call();
            } finally {
                synchronized (busy) {
                    busy.remove("key");
                    busy.notifyAll();
                }
            }
        });
    }

    public static void sleeping(Desk desk) {
        three(desk, code -> {
            Thread.sleep(Thread.currentThread().getName().equals("A") ? 0 : 2000);
            return code.call();
        });
    }

    public static void permits(Desk desk) {
        Semaphore semaphore = new Semaphore(1);
        three(desk, code -> {
            semaphore.tryAcquire(30, TimeUnit.SECONDS);
            try {
                return code.call();
            } finally {
                semaphore.release();
            }
        });
    }

    public static void scheduled(Desk desk) {
        ScheduledThreadPoolExecutor later = new ScheduledThreadPoolExecutor(1, Locks::daemon);
        later.schedule(() -> desk.ask("go", "later"), 3, TimeUnit.SECONDS);
        monitor(desk);
        later.shutdownNow();
    }

    /** Waits without a limit for a worker to end, which it does after its keep-alive time. */
    public static void joined(Desk desk) throws Exception {
        Thread[] worker = new Thread[1];
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                1, 1, 3, TimeUnit.SECONDS, new LinkedBlockingQueue<>(),
                code -> worker[0] = daemon(code));
        pool.allowCoreThreadTimeOut(true);
        pool.submit(() -> 1).get();
        Thread later = daemon(() -> {
            try {
                worker[0].join();
                desk.ask("go", "later");
            } catch (InterruptedException end) {
                return;
            }
        });
        later.start();
        monitor(desk);
        later.interrupt();
        pool.shutdownNow();
    }

    private static final class Later implements Runnable, Delayed {
        private final long due = System.nanoTime() + 3_000_000_000L;

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(due - System.nanoTime(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }

        @Override
        public void run() {
            return;
        }
    }

    /** A pool's queue gives a task out by the clock. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    public static void delayed(Desk desk) {
        BlockingQueue<Runnable> queue = (BlockingQueue) new DelayQueue<Later>();
        ThreadPoolExecutor pool =
                new ThreadPoolExecutor(1, 1, 9, TimeUnit.SECONDS, queue, Locks::daemon);
        pool.allowCoreThreadTimeOut(true);
        queue.add(new Later());
        pool.prestartCoreThread();
        monitor(desk);
        pool.shutdownNow();
    }

    private static final class Ending extends ForkJoinWorkerThread {
        Ending(ForkJoinPool pool) {
            super(pool);
        }

        @Override
        protected void onTermination(Throwable error) {
            return;
        }
    }

    /** A worker that does something when its keep-alive time is over. */
    public static void ending(Desk desk) throws Exception {
        ForkJoinPool pool = new ForkJoinPool(
                1, Ending::new, null, false, 0, 1, 1, null, 3, TimeUnit.SECONDS);
        pool.submit(() -> 1).get();
        monitor(desk);
        pool.shutdownNow();
    }

    /** The thread's name is that of a thread of the JVM. */
    public static void disguised(Desk desk) {
        AtomicBoolean end = new AtomicBoolean();
        Thread thread = daemon(() -> {
            while (!end.get()) {
                Thread.onSpinWait();
            }
        });
        thread.setName("C1 CompilerThread9");
        thread.start();
        monitor(desk);
        end.set(true);
    }
}
