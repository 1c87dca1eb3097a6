/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HPL: the HPC scheduling class of Gioiosa, McKee and Valero (CLUSTER '10), for
 * sched_ext. It schedules all tasks below real-time. On a CPU with a runnable HPC task no
 * normal task runs. HPC tasks take turns. They are placed when they are created, and stay.
 * While they run, there is no load balancing.
 *
 * Loaded by src/scheduler.rs and unloaded with it. The kernel calls the functions below
 * with the run queue locked, unless a comment says otherwise. None may wait.
 */
#include "count.h"
#include "turn.h"

char LICENSE[] SEC("license") = "GPL";

SEC("struct_ops/select_cpu")
s32 BPF_PROG(hpl_select_cpu, struct task_struct *p, s32 prev, u64 wake_flags)
{
	struct task_state *task = task_of(p);

	if (!task)
		return prev;
	if (is_hpc(p, task, prev))
		return task->cpu;
	if (is_pinned_kernel_thread(p))
		return prev;
	return home(p, prev, wake_flags);
}

/* A task joins and leaves the class here: a change of policy dequeues and enqueues it. */
SEC("struct_ops/runnable")
void BPF_PROG(hpl_runnable, struct task_struct *p, u64 enq_flags)
{
	struct task_state *task = task_of(p);
	s32 cpu = scx_bpf_task_cpu(p), before;

	if (!task)
		return;
	end_wait(task);
	before = task->cpu;
	if (!is_hpc(p, task, cpu)) {
		task->kept = !task->hpc && wants_kept(p);
		return;
	}
	task->kept = false;
	if (before < 0)
		task->joining = task->cpu != cpu;
	count_runnable(task);
}

SEC("struct_ops/quiescent")
void BPF_PROG(hpl_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct task_state *task = task_of(p);

	if (!task)
		return;
	uncount_runnable(task);
	if (deq_flags & SCX_DEQ_SLEEP)
		begin_wait(p, task);
}

/*
 * Preempts the target for a task that goes first, and for one that joins a task with an endless
 * turn: that turn must end now.
 */
static __always_inline void announce(struct task_struct *p, s32 cpu, s32 target, u64 enq_flags)
{
	struct cpu_state *state = state_of(target);

	if (!state)
		return;
	if (target == cpu) {
		if (p == bpf_get_current_task_btf() && !(enq_flags & SCX_ENQ_LAST))
			return;
		if (state->running == CLASS_HPC && state->runnable > 2 && !(enq_flags & ENQ_HEAD))
			return;
	}
	scx_bpf_kick_cpu(target, SCX_KICK_PREEMPT);
}

static __always_inline void insert_hpc(struct task_struct *p, struct task_state *task, s32 cpu, u64 enq_flags)
{
	struct hpl_options *chosen = the_options();
	u64 quantum_ns = chosen ? chosen->quantum_ns : SCX_SLICE_DFL;
	s32 target = task->cpu;

	if (target != cpu && cannot_migrate(p)) {
		target = cpu;
	} else if (target != cpu && !task->joining) {
		/* The kernel moved it because its CPU goes offline or is no longer allowed. */
		uncount_runnable(task);
		if (!may_run_on(p, target))
			place(p, task, cpu);
		target = task->cpu >= 0 ? task->cpu : cpu;
		count_runnable(task);
	}
	if (task->cpu != cpu)
		task->turn_ns = 0;
	else if (enq_flags & SCX_ENQ_WAKEUP)
		task->turn_ns = first_turn(task, quantum_ns);
	if (task->turn_ns)
		enq_flags |= ENQ_HEAD;
	scx_bpf_dsq_insert(p, hpc_queue(target), task->turn_ns ? task->turn_ns : quantum_ns, enq_flags);
	announce(p, cpu, target, enq_flags);
}

/*
 * The allowed CPUs changed: places the task again among them, as if it joined. Some programs bind
 * themselves to each CPU in turn to examine it (hwloc does), and all return at once; without a new
 * choice tasks would share a CPU permanently. The task is in no queue now. Disabling migration for
 * a short time is not such a change.
 */
SEC("struct_ops/set_cpumask")
void BPF_PROG(hpl_set_cpumask, struct task_struct *p, const struct cpumask *allowed)
{
	struct task_state *task = task_of(p);

	if (!task || !task->hpc || task->left || task->cpu < 0 || migration_is_disabled(p))
		return;
	uncount_runnable(task);
	place(p, task, task->cpu);
	task->joining = task->cpu >= 0 && task->cpu != scx_bpf_task_cpu(p);
	task->rebound = true;
}

SEC("struct_ops/enqueue")
void BPF_PROG(hpl_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_state *task = task_of(p);
	s32 cpu = scx_bpf_task_cpu(p);

	if (is_pinned_kernel_thread(p)) {
		insert_kernel(p, cpu, enq_flags);
	} else if (task && task->hpc && task->cpu >= 0) {
		insert_hpc(p, task, cpu, enq_flags);
	} else if (is_rcu(p)) {
		insert_kernel(p, rcu_home(p, cpu), enq_flags);
	} else if (!task || !task->kept || !insert_kept(p, cpu, enq_flags)) {
		insert_normal(p, cpu, enq_flags);
	}
}

/* Chooses the task to run next. The previous task continues if no other is taken and its slice is renewed. */
SEC("struct_ops/dispatch")
void BPF_PROG(hpl_dispatch, s32 cpu, struct task_struct *prev)
{
	struct cpu_state *state = state_of(cpu);
	struct task_state *task = prev ? task_of(prev) : NULL;
	struct hpl_options *chosen = the_options();
	bool is_runnable = prev && (prev->scx.flags & SCX_TASK_QUEUED);
	bool is_hpc = is_runnable && task && task->hpc && task->cpu == cpu;

	if (!state || !chosen)
		return;
	if (state->window) {
		if (take_waiting(cpu)) {
			state->through = 1;
			return;
		}
		if (is_runnable && !is_hpc) {
			set_slice(prev, SCX_SLICE_DFL);
			return;
		}
	}
	if (take_kept(cpu, state, prev, is_runnable && task && task->kept))
		return;
	if (scx_bpf_dsq_move_to_local(hpc_queue(cpu)))
		return;
	/* The other task has left: prev comes back through running(), which then stops its tick. */
	if (is_hpc && state->runnable <= 1 && !state->endless)
		return;
	if (is_hpc) {
		end_turn(task, state);
		begin_turn(task, state, chosen->quantum_ns);
		set_slice(prev, until_kept_ns(state, cpu, chosen->quantum_ns));
		return;
	}
	/* An HPC task is about to arrive here, or to move to its own CPU: no normal task may run in between. */
	if (state->runnable > 0 || (is_runnable && task && task->hpc))
		return;
	if (take_normal(cpu))
		return;
	if (is_runnable)
		set_slice(prev, normal_slice_ns(state));
}

SEC("struct_ops/running")
void BPF_PROG(hpl_running, struct task_struct *p)
{
	struct task_state *task = task_of(p);
	struct hpl_options *chosen = the_options();
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *state = state_of(cpu);

	if (!task || !chosen || !state)
		return;
	if (going >= 0)
		prod(going);
	if (!task->hpc || task->cpu < 0) {
		if (task->kept && !state->through) {
			state->kept_since_ns = bpf_ktime_get_ns();
			if (state->runnable <= 0 || has_kept_time(state))
				return;
		}
		/* It left the HPC class or a higher one while it ran, so it came through no queue. */
		if (state->runnable > 0 && !state->through && class_of(p) == CLASS_NORMAL)
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
		else if (lends(state) && class_of(p) == CLASS_NORMAL)
			set_slice(p, LENT_SLICE_NS);
		return;
	}
	if (task->cpu != cpu) {
		if (task->joining && !cannot_migrate(p))
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
		return;
	}
	task->joining = task->rebound = false;
	begin_turn(task, state, task->turn_ns ? task->turn_ns : chosen->quantum_ns);
	/* A task that is alone, with no kept task behind it, needs no tick. */
	state->endless = state->runnable <= 1 && !scx_bpf_dsq_nr_queued(kept_queue(cpu));
	set_slice(p, state->endless ? SCX_SLICE_INF : until_kept_ns(state, cpu, task->turn_ns));
}

SEC("struct_ops/stopping")
void BPF_PROG(hpl_stopping, struct task_struct *p, bool runnable)
{
	struct task_state *task = task_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *state = state_of(cpu);

	if (task && task->kept && state) {
		charge_kept(state);
		state->kept_since_ns = 0;
	}
	if (!task || !task->hpc || task->cpu != cpu || !state)
		return;
	end_turn(task, state);
	if (!runnable)
		task->turn_ns = 0;
}

/* The task gives up the rest of its turn. */
SEC("struct_ops/yield")
bool BPF_PROG(hpl_yield, struct task_struct *from, struct task_struct *to)
{
	struct task_state *task = task_of(from);

	if (task)
		task->turn_ns = 0;
	set_slice(from, 0);
	return false;
}

/* Tasks already moved to this CPU must not run before HPC tasks that arrive in the meantime. */
SEC("struct_ops/cpu_release")
void BPF_PROG(hpl_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

SEC("struct_ops.s/init_task")
s32 BPF_PROG(hpl_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_state *task = bpf_task_storage_get(&tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!task)
		return -12; /* ENOMEM */
	task->cpu = task->launches_at = task->waits_at = NO_CPU;
	task->counted = -1;
	return 0;
}

SEC("struct_ops/exit_task")
void BPF_PROG(hpl_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct task_state *task = task_of(p);

	if (!task)
		return;
	uncount_runnable(task);
	unplace(p, task);
}

/* The task goes to a higher class, in which this scheduler does not see its wake-ups. */
SEC("struct_ops/disable")
void BPF_PROG(hpl_disable, struct task_struct *p)
{
	struct task_state *task = task_of(p);

	if (task)
		end_wait(task);
}

/* These two run without a lock. */
SEC("struct_ops/cpu_online")
void BPF_PROG(hpl_cpu_online, s32 cpu)
{
	struct cpu_state *state = state_of(cpu);

	if (cpu == going)
		going = NO_CPU;
	if (state)
		state->online = 1;
}

SEC("struct_ops/cpu_offline")
void BPF_PROG(hpl_cpu_offline, s32 cpu)
{
	struct cpu_state *state = state_of(cpu);

	if (!state)
		return;
	state->online = 0;
	choose_door(door);
	send_all_away(cpu);
	going = cpu;
}

SEC("struct_ops.s/init")
s32 BPF_PROG(hpl_init)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	s32 cpus = scx_bpf_nr_cpu_ids(), cpu, failed = 0;

	bpf_for(cpu, 0, cpus) {
		struct cpu_state *state = state_of(cpu);

		if (state && bpf_cpumask_test_cpu(cpu, online))
			state->online = 1;
		failed = scx_bpf_create_dsq(hpc_queue(cpu), -1);
		if (!failed)
			failed = scx_bpf_create_dsq(normal_queue(cpu), -1);
		if (!failed)
			failed = scx_bpf_create_dsq(kept_queue(cpu), -1);
		if (failed)
			break;
	}
	scx_bpf_put_cpumask(online);
	return failed ? failed : scx_bpf_create_dsq(SHARED_QUEUE, -1);
}

SEC("struct_ops.s/exit")
void BPF_PROG(hpl_exit, struct scx_exit_info *info)
{
	struct hpl_end end = { .code = info->exit_code, .kind = info->kind };

	bpf_probe_read_kernel_str(end.reason, sizeof(end.reason), info->reason);
	bpf_probe_read_kernel_str(end.message, sizeof(end.message), info->msg);
	bpf_ringbuf_output(&ends, &end, sizeof(end), 0);
}

SEC(".struct_ops.link")
struct sched_ext_ops tacet_hpl = {
	.select_cpu = (void *)hpl_select_cpu,
	.set_cpumask = (void *)hpl_set_cpumask,
	.enqueue = (void *)hpl_enqueue,
	.dispatch = (void *)hpl_dispatch,
	.runnable = (void *)hpl_runnable,
	.running = (void *)hpl_running,
	.stopping = (void *)hpl_stopping,
	.yield = (void *)hpl_yield,
	.quiescent = (void *)hpl_quiescent,
	.init_task = (void *)hpl_init_task,
	.exit_task = (void *)hpl_exit_task,
	.disable = (void *)hpl_disable,
	.cpu_online = (void *)hpl_cpu_online,
	.cpu_offline = (void *)hpl_cpu_offline,
	.cpu_release = (void *)hpl_cpu_release,
	.init = (void *)hpl_init,
	.exit = (void *)hpl_exit,
	.flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_MIGRATION_DISABLED,
	.timeout_ms = 30000,
	.name = "tacet_hpl",
};
