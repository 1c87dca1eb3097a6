// SPDX-License-Identifier: Apache-2.0 OR MIT

// What Go's runtime asks of a kernel: large reservations, a collector that stops all threads, goroutines that are
// interrupted by signals, stacks that grow, timers, files, pipes that epoll waits for, a nil pointer that is caught.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type tree struct {
	left, right *tree
	value       int
}

func grow(depth int) *tree {
	if depth == 0 {
		return &tree{value: 1}
	}
	return &tree{grow(depth - 1), grow(depth - 1), 1}
}

func (t *tree) sum() int {
	if t == nil {
		return 0
	}
	return t.value + t.left.sum() + t.right.sum()
}

// Many small objects live and die while other goroutines compute.
func collect() int {
	var group sync.WaitGroup
	var total atomic.Int64
	for worker := 0; worker < 6; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for round := 0; round < 4; round++ {
				total.Add(int64(grow(11).sum()))
				runtime.GC()
			}
		}()
	}
	group.Wait()
	return int(total.Load())
}

// A loop without a call, which the collector interrupts.
func preempt() bool {
	var stop atomic.Bool
	done := make(chan int)
	go func() {
		count := 0
		for !stop.Load() {
			count++
		}
		done <- count
	}()
	for round := 0; round < 3; round++ {
		runtime.GC()
	}
	stop.Store(true)
	return <-done >= 0
}

func pipeline() int {
	numbers, squares := make(chan int), make(chan int, 3)
	go func() {
		for number := 0; number < 1000; number++ {
			numbers <- number
		}
		close(numbers)
	}()
	var group sync.WaitGroup
	for worker := 0; worker < 5; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for number := range numbers {
				squares <- number * number
			}
		}()
	}
	go func() { group.Wait(); close(squares) }()
	sum := 0
	for square := range squares {
		sum += square
	}
	return sum
}

func deep(left int) int {
	var filler [64]int
	if left == 0 {
		return 0
	}
	filler[left%64] = 1
	return filler[left%64] + deep(left-1)
}

func timers() string {
	var order []string
	var lock sync.Mutex
	var group sync.WaitGroup
	for _, after := range []int{30, 10, 20} {
		group.Add(1)
		time.AfterFunc(time.Duration(after)*50*time.Millisecond, func() {
			defer group.Done()
			lock.Lock()
			order = append(order, fmt.Sprint(after))
			lock.Unlock()
		})
	}
	group.Wait()
	select {
	case <-make(chan int):
	case <-time.After(time.Millisecond):
	}
	return strings.Join(order, " ")
}

func caught() (message string) {
	defer func() { message = fmt.Sprint(recover()) }()
	var nothing *tree
	return fmt.Sprint(nothing.value)
}

func files() (int, error) {
	directory, err := os.MkdirTemp("", "tacet-go-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(directory)
	for number := 0; number < 30; number++ {
		name := filepath.Join(directory, fmt.Sprint("file", number))
		if err := os.WriteFile(name, []byte(strings.Repeat("line\n", number)), 0o600); err != nil {
			return 0, err
		}
	}
	found, err := os.ReadDir(directory)
	bytes := 0
	for _, entry := range found {
		text, err := os.ReadFile(filepath.Join(directory, entry.Name()))
		if err != nil {
			return 0, err
		}
		bytes += len(text)
	}
	return bytes, err
}

// The reader waits in epoll until the writer comes.
func pipe() string {
	reader, writer, err := os.Pipe()
	if err != nil {
		return err.Error()
	}
	go func() {
		time.Sleep(5 * time.Millisecond)
		fmt.Fprint(writer, "through a pipe")
		writer.Close()
	}()
	text, err := io.ReadAll(reader)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func main() {
	fmt.Printf("words %q\n", os.Args[1:])
	fmt.Println("collected", collect(), "preempted", preempt())
	fmt.Println("pipeline", pipeline(), "deep", deep(200000))
	fmt.Println("timers", timers(), "caught", caught())
	fmt.Println(files())
	fmt.Println(pipe())
	lines := 0
	for scanner := bufio.NewScanner(os.Stdin); scanner.Scan(); lines++ {
		fmt.Println(strings.ToUpper(scanner.Text()))
	}
	os.Exit(lines)
}
