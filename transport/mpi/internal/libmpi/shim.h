#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* What of MPI are macros, and what several calls of it make up. Functions return an error of
 * MPI, or MPI_SUCCESS. */

/* tessera_bell is what a process naps on. Others on its machine see it. */
typedef struct {
	_Atomic uint32_t turn;   /* how often it was rung */
	_Atomic uint32_t asleep; /* somebody would hear it */
	char apart[56];          /* a line of the cache for each */
} tessera_bell;

/* tessera_host is the processes on this machine. */
typedef struct {
	MPI_Comm comm;
	MPI_Comm all;   /* all processes of the world, of which groups are made */
	MPI_Win window; /* with their bells */
	int size;
	int *ranks;           /* in the world */
	tessera_bell **bells; /* NULL if the bells could not be shared */
} tessera_host;

typedef struct {
	int source, size;
	MPI_Message message;
} tessera_found;

int tessera_begin(int multiple, int *began, int *thread, int *rank, int *size);
int tessera_quit(int here);
int tessera_end(void);
void tessera_abort(int code);
void tessera_text(int error, char *text, int room);

int tessera_name(char *name, int room);
int tessera_gather(void *own, int size, void *all);
int tessera_host_open(tessera_host *h);
void tessera_host_close(tessera_host *h);

int tessera_comm(int size, int rank, MPI_Comm *comm);
int tessera_meet(MPI_Comm comm);
int tessera_isend(MPI_Comm comm, void *b, int n, int to, int tag, MPI_Request *r, int *done);
int tessera_irecv(MPI_Comm comm, void *b, int n, int from, int tag, MPI_Request *r, int *done, int *got);
int tessera_probe(MPI_Comm comm, int tag, int *any, tessera_found *found);
int tessera_take(tessera_found *found, void *b, int n, MPI_Request *r, int *done);
int tessera_test(MPI_Request *r, int n, int *which, int *many, int *got, int *errors, MPI_Status *room);
int tessera_cancel(MPI_Request *r);

int tessera_group(tessera_host *h, int n, int *ranks, int tag, MPI_Comm *comm);
int tessera_group_free(MPI_Comm *comm);
int tessera_fortran(MPI_Comm comm);
int tessera_agree(MPI_Comm comm, int *who, char *text, int room);

uint32_t tessera_turn(tessera_bell *b);
void tessera_ring(tessera_bell *b);
void tessera_nap(tessera_bell *b, uint32_t turn, int64_t ns);
