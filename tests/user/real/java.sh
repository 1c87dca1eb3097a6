#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Java's runtime: threads, garbage, checks for null by faults, compiled code.
. "$(dirname "$0")/lib"
need javac java
cat >Program.java <<'JAVA'
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class Program {
    static class Node {
        int value = 1;
        Node next;
    }

    static long words(int first) {
        long sum = 0;
        for (int i = 0; i < 40; i++) {
            var words = new HashMap<Integer, String>();
            for (int j = 0; j < 500; j++) words.put(j, "word " + (first + i + j));
            sum += words.get(17).hashCode();
        }
        return sum;
    }

    static int missing() {
        var node = new Node();
        int found = 0;
        for (int i = 0; i < 500; i++) {
            try {
                found += (i % 2 == 0 ? node : node.next).value;
            } catch (NullPointerException nothing) {
                found += 1000;
            }
        }
        return found;
    }

    public static void main(String[] arguments) throws Exception {
        try (var threads = Executors.newFixedThreadPool(3)) {
            List<Future<Long>> sums = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                int first = i;
                sums.add(threads.submit(() -> words(first)));
            }
            for (var sum : sums) System.out.println("words " + sum.get());
        }
        System.out.println("missing " + missing());
        var kept = new byte[8][];
        for (int i = 0; i < 100; i++) {
            kept[i % 8] = new byte[1 << 20];
            kept[i % 8][i] = 1;
        }
        System.gc();
        int ones = 0;
        for (var block : kept) for (var one : block) ones += one;
        System.out.println("kept " + ones);
    }
}
JAVA
# the compiler is only a tool here: its own code is not worth the second compiler of Java
javac -J-XX:TieredStopAtLevel=1 Program.java && java -Xmx128m Program
