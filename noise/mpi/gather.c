// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Gathers the results of all ranks into one file. Rank 0 holds one number for each node, one
 * node's part of the table and one piece of one rank's samples at a time. It asks for each part
 * (GO), so no messages pile up there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choose.h"
#include "fwq.h"

#define PIECE (1u << 20)

enum { GO = 1, NODE, ROWS, SAMPLES };

static void *memory(size_t count, size_t size)
{
	void *room = calloc(count ? count : 1, size);

	if (!room) {
		fprintf(stderr, "tacet-mpi-fwq: no memory to gather the run\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	return room;
}

/* Whether this rank's node is one of the worst. */
static uint8_t is_chosen(uint64_t worst, const struct place *place, uint64_t noise_ns, uint64_t *stored_nodes)
{
	uint64_t of_node = 0, *of_nodes = NULL;
	uint8_t chosen = 0, *all = NULL;

	MPI_Reduce(&noise_ns, &of_node, 1, MPI_UINT64_T, MPI_MAX, 0, place->node);
	if (!place->rank) {
		of_nodes = memory((size_t)place->nodes, sizeof(*of_nodes));
		all = memory((size_t)place->nodes, 1);
	}
	if (!place->on_node) {
		MPI_Gather(&of_node, 1, MPI_UINT64_T, of_nodes, 1, MPI_UINT64_T, 0, place->leaders);
		if (!place->rank) {
			int64_t count = choose_worst(of_nodes, (uint64_t)place->nodes, worst, all);

			if (count < 0)
				MPI_Abort(MPI_COMM_WORLD, 2);
			*stored_nodes = (uint64_t)count;
		}
		MPI_Scatter(all, 1, MPI_UINT8_T, &chosen, 1, MPI_UINT8_T, 0, place->leaders);
	}
	MPI_Bcast(&chosen, 1, MPI_UINT8_T, 0, place->node);
	free(of_nodes);
	free(all);
	return chosen;
}

/* Sends this rank's samples to rank 0 in pieces; rank 0 writes its own. */
static void pass_samples(const struct place *place, const struct found *found, uint64_t samples)
{
	uint8_t *piece = memory(PIECE, 1);
	uint64_t end = 0;
	size_t used = 0;

	if (place->rank)
		MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (uint64_t i = 0; i < samples; i++) {
		const struct sample *sample = &found->samples[i];

		used += write_sample(piece + used, sample, end, found->row.shortest_ns);
		end = sample->start_ns + sample->length_ns;
		if (i + 1 < samples && used + SAMPLE_BYTES <= PIECE)
			continue;
		if (place->rank)
			MPI_Send(piece, (int)used, MPI_BYTE, 0, SAMPLES, MPI_COMM_WORLD);
		else
			file_write(piece, used);
		used = 0;
	}
	free(piece);
}

static void receive_samples(const struct fwq_rank *row)
{
	uint8_t *piece = memory(PIECE, 1);

	MPI_Send(NULL, 0, MPI_BYTE, (int)row->rank, GO, MPI_COMM_WORLD);
	for (uint64_t left = row->stored_bytes; left;) {
		MPI_Status status;
		int used;

		MPI_Recv(piece, PIECE, MPI_BYTE, (int)row->rank, SAMPLES, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_BYTE, &used);
		file_write(piece, (size_t)used);
		left -= (uint64_t)used;
	}
	free(piece);
}

static void count_in(struct totals *totals, const struct fwq_node *node, const struct fwq_rank *row, uint64_t ranks)
{
	uint64_t noise_ns = row->longest_ns - row->shortest_ns;

	if (row->run_ns < totals->shortest_run_ns)
		totals->shortest_run_ns = row->run_ns;
	if (row->run_ns > totals->longest_run_ns)
		totals->longest_run_ns = row->run_ns;
	totals->noise_rate += row->noise_rate / (double)ranks;
	if (noise_ns >= totals->noise_ns) {
		totals->noise_ns = noise_ns;
		totals->noisiest = *row;
		memcpy(totals->host, node->host, sizeof(totals->host));
	}
}

/* On rank 0: writes the table, node by node. Returns the `*stored` rows whose samples will be stored. */
static struct fwq_rank *write_table(const struct place *place, const struct fwq_node *own, struct fwq_rank *own_rows,
				    struct totals *totals, uint64_t *stored)
{
	struct fwq_rank *keep = NULL;
	size_t room = 0;

	*stored = 0;
	for (int number = 0; number < place->nodes; number++) {
		struct fwq_node node = *own;
		struct fwq_rank *rows = own_rows;

		if (number) {
			MPI_Send(NULL, 0, MPI_BYTE, number, GO, place->leaders);
			MPI_Recv(&node, sizeof(node), MPI_BYTE, number, NODE, place->leaders, MPI_STATUS_IGNORE);
			rows = memory(node.ranks, sizeof(*rows));
			MPI_Recv(rows, (int)(node.ranks * sizeof(*rows)), MPI_BYTE, number, ROWS, place->leaders,
				 MPI_STATUS_IGNORE);
		}
		file_write(&node, sizeof(node));
		file_write(rows, node.ranks * sizeof(*rows));
		for (uint64_t i = 0; i < node.ranks; i++) {
			count_in(totals, &node, &rows[i], (uint64_t)place->ranks);
			if (!rows[i].stored_bytes)
				continue;
			if (*stored == room) {
				struct fwq_rank *more = memory(room = 2 * room + 64, sizeof(*more));

				memcpy(more, keep ? keep : rows, *stored * sizeof(*more));
				free(keep);
				keep = more;
			}
			keep[(*stored)++] = rows[i];
		}
		if (rows != own_rows)
			free(rows);
	}
	return keep;
}

struct totals gather(uint64_t worst, const struct place *place, struct fwq_header *header, const char *text,
		     struct found *found)
{
	struct totals totals = { .shortest_run_ns = UINT64_MAX };
	uint64_t both[2] = { found->locked, found->huge }, stored = 0;
	struct fwq_node node = { .ranks = (uint64_t)place->node_ranks };
	struct fwq_rank *rows = memory((size_t)place->node_ranks, sizeof(*rows)), *keep = NULL;

	gethostname(node.host, sizeof(node.host) - 1);
	MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
	MPI_Reduce(place->rank ? found->histogram : MPI_IN_PLACE, found->histogram, FWQ_BUCKETS, MPI_UINT64_T, MPI_SUM, 0,
		   MPI_COMM_WORLD);
	if (is_chosen(worst, place, found->row.longest_ns - found->row.shortest_ns, &totals.stored_nodes))
		found->row.stored_bytes = bytes_of(found->samples, header->samples, found->row.shortest_ns);
	MPI_Gather(&found->row, sizeof(*rows), MPI_BYTE, rows, sizeof(*rows), MPI_BYTE, 0, place->node);
	if (!place->rank) {
		header->memory_locked = both[0];
		header->huge_pages = both[1];
		header->stored_nodes = totals.stored_nodes;
		file_write(header, sizeof(*header));
		file_write(text, header->text_bytes);
		file_write(found->histogram, sizeof(found->histogram));
		keep = write_table(place, &node, rows, &totals, &stored);
		for (uint64_t i = 0; i < stored; i++) {
			if (keep[i].rank)
				receive_samples(&keep[i]);
			else
				pass_samples(place, found, header->samples);
		}
	} else {
		if (!place->on_node) {
			MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, place->leaders, MPI_STATUS_IGNORE);
			MPI_Send(&node, sizeof(node), MPI_BYTE, 0, NODE, place->leaders);
			MPI_Send(rows, (int)(node.ranks * sizeof(*rows)), MPI_BYTE, 0, ROWS, place->leaders);
		}
		if (found->row.stored_bytes)
			pass_samples(place, found, header->samples);
	}
	free(rows);
	free(keep);
	return totals;
}
