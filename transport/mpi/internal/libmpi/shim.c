//go:build mpi && linux && cgo

#define _GNU_SOURCE
#include "shim.h"

#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Settings of MPI libraries that have to be other ones in a Go program, unless the user has
 * set them. Go gives memory back to the system, and takes it again, by calls that these
 * libraries do not see: what they remember of registered memory would be wrong. And a fault
 * in Go code is Go's to handle. */
static void settings(void) {
	setenv("OMPI_MCA_mpi_leave_pinned", "0", 0);
	setenv("OMPI_MCA_opal_signal", "", 0);
	setenv("UCX_RCACHE_ENABLE", "n", 0);
}

/* What handles each signal before MPI is initialised, and what MPI has put in its place. */
static struct sigaction before[NSIG], after[NSIG];

static void nothing(int signo) { (void)signo; }

static void handle(struct sigaction *a, int signo, siginfo_t *info, void *context) {
	if (a->sa_flags & SA_SIGINFO)
		a->sa_sigaction(signo, info, context);
	else if (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN)
		a->sa_handler(signo);
}

/* both has first MPI and then Go handle a signal. */
static void both(int signo, siginfo_t *info, void *context) {
	handle(&after[signo], signo, info, context);
	handle(&before[signo], signo, info, context);
}

/* signals_begin notes what handles signals. MPICH has a handler for SIGUSR1, by which mpirun says
 * that a rank is lost. It calls the one before with the number only, and Go's wants more. */
static void signals_begin(void) {
	for (int s = 1; s < NSIG; s++)
		if (sigaction(s, NULL, &before[s]) != 0)
			before[s].sa_handler = SIG_DFL;
	sigaction(SIGUSR1, &(struct sigaction){.sa_handler = nothing, .sa_flags = SA_ONSTACK | SA_RESTART}, NULL);
}

/* signals_end has signals handled as Go demands: on the stack for signals, as goroutines have
 * small ones. Faults are Go's alone, which makes panics of them. */
static void signals_end(void) {
	for (int s = 1; s < NSIG; s++) {
		if (sigaction(s, NULL, &after[s]) != 0 || after[s].sa_handler == before[s].sa_handler)
			continue;
		int fault = s == SIGSEGV || s == SIGBUS || s == SIGFPE;
		if (fault || after[s].sa_handler == nothing || after[s].sa_handler == SIG_DFL || after[s].sa_handler == SIG_IGN) {
			sigaction(s, &before[s], NULL);
			continue;
		}
		struct sigaction a = after[s];
		a.sa_sigaction = both;
		a.sa_flags |= SA_ONSTACK | SA_SIGINFO | SA_RESTART;
		sigaction(s, &a, NULL);
	}
}

/* tessera_begin initialises MPI, unless the program has. *thread is 2 if several threads may call it
 * at once, 1 if one at a time may, and otherwise 0. */
int tessera_begin(int multiple, int *began, int *thread, int *rank, int *size) {
	int e, was;
	if ((e = MPI_Initialized(&was)) != MPI_SUCCESS)
		return e;
	if (was) {
		e = MPI_Query_thread(thread);
	} else {
		settings();
		signals_begin();
		e = MPI_Init_thread(NULL, NULL, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED, thread);
		signals_end();
		*began = e == MPI_SUCCESS;
	}
	*thread = (*thread >= MPI_THREAD_SERIALIZED) + (*thread >= MPI_THREAD_MULTIPLE);
	if (e == MPI_SUCCESS)
		e = MPI_Comm_rank(MPI_COMM_WORLD, rank);
	if (e == MPI_SUCCESS)
		e = MPI_Comm_size(MPI_COMM_WORLD, size);
	return e;
}

/* tessera_quit waits until all processes of the world are about to end, of which so many are on
 * this machine. */
int tessera_quit(int here) {
	int e = MPI_Barrier(MPI_COMM_WORLD);
#ifdef MPICH_VERSION
	/* A process that waits in MPI_Finalize of MPICH 4.0 over UCX answers nobody. If another
	 * one, still under way, answers its last question first, its own is never answered, and both
	 * wait for ever (pmodels/mpich#6596). So all are silent until the last one has noticed that
	 * all are here. */
	int size;
	if (e == MPI_SUCCESS && (e = MPI_Comm_size(MPI_COMM_WORLD, &size)) == MPI_SUCCESS && here < size)
		nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
#else
	(void)here;
#endif
	return e;
}

int tessera_end(void) { return MPI_Finalize(); }

void tessera_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

void tessera_text(int error, char *text, int room) {
	char all[MPI_MAX_ERROR_STRING] = "";
	int n;
	if (MPI_Error_string(error, all, &n) != MPI_SUCCESS)
		strcpy(all, "an error without a text");
	strncpy(text, all, room - 1);
	text[room - 1] = 0;
}

int tessera_name(char *name, int room) {
	char own[MPI_MAX_PROCESSOR_NAME] = "";
	int n, e = MPI_Get_processor_name(own, &n);
	strncpy(name, own, room - 1);
	name[room - 1] = 0;
	return e;
}

/* tessera_gather puts what each rank has, of size bytes, into all. */
int tessera_gather(void *own, int size, void *all) {
	return MPI_Allgather(own, size, MPI_BYTE, all, size, MPI_BYTE, MPI_COMM_WORLD);
}

/* tessera_host_open finds the processes of this machine and has them share their bells. If
 * there are none to be shared, each process has its own. */
int tessera_host_open(tessera_host *h) {
	int e, rank, own;
	MPI_Group all, here;
	memset(h, 0, sizeof *h);
	h->window = MPI_WIN_NULL;
	if ((e = MPI_Comm_dup(MPI_COMM_WORLD, &h->all)) != MPI_SUCCESS)
		return e;
	MPI_Comm_set_errhandler(h->all, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if ((e = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &h->comm)) != MPI_SUCCESS)
		return e;
	MPI_Comm_size(h->comm, &h->size);
	MPI_Comm_rank(h->comm, &own);
	int *local = malloc(sizeof(int) * h->size);
	h->ranks = malloc(sizeof(int) * h->size);
	h->bells = calloc(h->size, sizeof *h->bells);
	if (!local || !h->ranks || !h->bells)
		return MPI_ERR_NO_MEM;
	for (int i = 0; i < h->size; i++)
		local[i] = i;
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Comm_group(h->comm, &here);
	MPI_Group_translate_ranks(here, h->size, local, all, h->ranks);
	MPI_Group_free(&all);
	MPI_Group_free(&here);
	free(local);

	MPI_Comm_set_errhandler(h->comm, MPI_ERRORS_RETURN);
	void *base;
	int shared = MPI_Win_allocate_shared(sizeof(tessera_bell), 1, MPI_INFO_NULL, h->comm, &base, &h->window) == MPI_SUCCESS;
	for (int i = 0; shared && i < h->size; i++) {
		MPI_Aint size;
		int unit;
		shared = MPI_Win_shared_query(h->window, i, &size, &unit, &h->bells[i]) == MPI_SUCCESS && size >= (MPI_Aint)sizeof(tessera_bell);
	}
	/* All of them or none: who rings a bell that nobody naps on is not heard. */
	int every = shared;
	if ((e = MPI_Allreduce(&shared, &every, 1, MPI_INT, MPI_MIN, h->comm)) != MPI_SUCCESS)
		return e;
	for (int i = 0; !every && i < h->size; i++)
		h->bells[i] = NULL;
	if (!every && !(h->bells[own] = aligned_alloc(64, sizeof(tessera_bell))))
		return MPI_ERR_NO_MEM;
	memset(h->bells[own], 0, sizeof(tessera_bell));
	return MPI_Barrier(h->comm);
}

void tessera_host_close(tessera_host *h) {
	if (h->window != MPI_WIN_NULL)
		MPI_Win_free(&h->window);
	MPI_Comm_free(&h->comm);
	MPI_Comm_free(&h->all);
	free(h->ranks);
	free(h->bells);
}

/* tessera_comm makes a communicator of the first size ranks. All ranks of the world call it. */
int tessera_comm(int size, int rank, MPI_Comm *comm) {
	int e = MPI_Comm_split(MPI_COMM_WORLD, rank < size ? 0 : MPI_UNDEFINED, rank, comm);
	if (e == MPI_SUCCESS && rank < size)
		e = MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
	return e;
}

/* tessera_meet has each process exchange a message with each other one, so that connections
 * are there: to make one takes both sides, and later on one of them may nap. */
int tessera_meet(MPI_Comm comm) {
	int size, rank, e, tag = 32767;
	MPI_Comm_size(comm, &size);
	MPI_Comm_rank(comm, &rank);
	for (int k = 1; k < size; k++) {
		int to = (rank + k) % size, from = (rank + size - k) % size;
		char out = 0, in;
		if ((e = MPI_Sendrecv(&out, 1, MPI_BYTE, to, tag, &in, 1, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE)) != MPI_SUCCESS)
			return e;
	}
	return MPI_Barrier(comm);
}

int tessera_isend(MPI_Comm comm, void *b, int n, int to, int tag, MPI_Request *r, int *done) {
	int e = MPI_Isend(b, n, MPI_BYTE, to, tag, comm, r);
	return e != MPI_SUCCESS ? e : MPI_Test(r, done, MPI_STATUS_IGNORE);
}

int tessera_irecv(MPI_Comm comm, void *b, int n, int from, int tag, MPI_Request *r, int *done, int *got) {
	MPI_Status s;
	int e = MPI_Irecv(b, n, MPI_BYTE, from, tag, comm, r);
	if (e == MPI_SUCCESS)
		e = MPI_Test(r, done, &s);
	if (e == MPI_SUCCESS && *done)
		e = MPI_Get_count(&s, MPI_BYTE, got);
	return e;
}

/* tessera_probe looks for a message of a tag, from anybody. */
int tessera_probe(MPI_Comm comm, int tag, int *any, tessera_found *found) {
	MPI_Status s;
	int e = MPI_Improbe(MPI_ANY_SOURCE, tag, comm, any, &found->message, &s);
	if (e != MPI_SUCCESS || !*any)
		return e;
	found->source = s.MPI_SOURCE;
	return MPI_Get_count(&s, MPI_BYTE, &found->size);
}

int tessera_take(tessera_found *found, void *b, int n, MPI_Request *r, int *done) {
	int e = MPI_Imrecv(b, n, MPI_BYTE, &found->message, r);
	return e != MPI_SUCCESS ? e : MPI_Test(r, done, MPI_STATUS_IGNORE);
}

/* tessera_test finds the requests that are complete, with how much has come by each, and its
 * error. */
int tessera_test(MPI_Request *r, int n, int *which, int *many, int *got, int *errors, MPI_Status *room) {
	int e = MPI_Testsome(n, r, many, which, room);
	int class = MPI_SUCCESS;
	if (e != MPI_SUCCESS)
		MPI_Error_class(e, &class);
	if (e != MPI_SUCCESS && class != MPI_ERR_IN_STATUS)
		return e;
	if (*many == MPI_UNDEFINED)
		*many = 0;
	for (int i = 0; i < *many; i++) {
		errors[i] = class == MPI_ERR_IN_STATUS ? room[i].MPI_ERROR : MPI_SUCCESS;
		got[i] = 0;
		if (errors[i] == MPI_SUCCESS)
			MPI_Get_count(&room[i], MPI_BYTE, &got[i]);
	}
	return MPI_SUCCESS;
}

int tessera_cancel(MPI_Request *r) { return MPI_Cancel(r); }

/* tessera_group makes a communicator of n ranks of the world, all of which call it with the same tag. */
int tessera_group(tessera_host *h, int n, int *ranks, int tag, MPI_Comm *comm) {
	MPI_Group all, group;
	int e = MPI_Comm_group(h->all, &all);
	if (e != MPI_SUCCESS)
		return e;
	if ((e = MPI_Group_incl(all, n, ranks, &group)) == MPI_SUCCESS) {
		if ((e = MPI_Comm_create_group(h->all, group, tag, comm)) == MPI_SUCCESS)
			e = MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
		MPI_Group_free(&group);
	}
	MPI_Group_free(&all);
	return e;
}

int tessera_group_free(MPI_Comm *comm) { return MPI_Comm_free(comm); }

int tessera_fortran(MPI_Comm comm) { return MPI_Comm_c2f(comm); }

/* tessera_agree gives all ranks the smallest *who, and the text of the rank of that number if there is one. */
int tessera_agree(MPI_Comm comm, int *who, char *text, int room) {
	int size, first, e;
	MPI_Comm_size(comm, &size);
	if ((e = MPI_Allreduce(who, &first, 1, MPI_INT, MPI_MIN, comm)) != MPI_SUCCESS)
		return e;
	*who = first;
	return first < size ? MPI_Bcast(text, room, MPI_CHAR, first, comm) : MPI_SUCCESS;
}

/* prompt asks for turns of 0.1 ms, the shortest there are, for a thread that does little at a
 * time. Linux from 6.12 on then lets it take the place of one with longer turns as soon as it
 * is woken: a message that went and came back between ranks whose cores are busy took 1 ms,
 * not 10 (two cores of an EPYC, Linux 6.18). */
static void prompt(void) {
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {.size = 48, .runtime = 100000};
	if (syscall(SYS_sched_getattr, 0, &attr, 48, 0) == 0 && attr.policy == 0) {
		attr.runtime = 100000;
		syscall(SYS_sched_setattr, 0, &attr, 0);
	}
}

uint32_t tessera_turn(tessera_bell *b) { return b->turn; }

void tessera_ring(tessera_bell *b) {
	b->turn++;
	if (b->asleep)
		syscall(SYS_futex, &b->turn, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* tessera_nap returns after a time, or when the bell was rung since its turn was read. */
void tessera_nap(tessera_bell *b, uint32_t turn, int64_t ns) {
	static __thread int prompted;
	if (!prompted++)
		prompt();
	struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	b->asleep = 1;
	syscall(SYS_futex, &b->turn, FUTEX_WAIT, turn, &t, NULL, 0);
	b->asleep = 0;
}
