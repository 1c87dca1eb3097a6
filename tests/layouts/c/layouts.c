// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * The module's reader of types as a program: it is compiled with the sanitizers, and the tests
 * of this folder run it on kernels' types and on broken ones.
 *
 * layouts table BASE NVME CORE                     places of all wanted fields; "-": built in
 * layouts find BASE SPLIT KIND BYTES TYPE FIELD…   one field, with its second place if two are given
 * layouts fuzz BASE SPLIT ROUNDS SEED              the reader on broken copies of two buffers
 *
 * Exit status: 0, 1 for a refusal (which it prints), 2 for a mistake of the caller.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pico/linux/layout.h"
#include "pico/nvme/linux/fields.h"

struct buffer {
	unsigned char *start;
	size_t bytes;
};

static struct tacet_btf btf;

static _Noreturn void die(const char *object, const char *cause)
{
	fprintf(stderr, "layouts: %s: %s\n", object, cause);
	exit(2);
}

/* Exactly as large as the file, so that the sanitizer sees the first byte behind it. */
static struct buffer copy_of(const unsigned char *from, size_t bytes)
{
	struct buffer buffer = { malloc(bytes ? bytes : 1), bytes };

	if (!buffer.start)
		die("memory", "none left");
	if (bytes)
		memcpy(buffer.start, from, bytes);
	return buffer;
}

static struct buffer read_file(const char *path)
{
	struct buffer buffer = {};
	FILE *file;
	long bytes;

	if (!strcmp(path, "-"))
		return buffer;
	file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END) || (bytes = ftell(file)) < 0)
		die(path, "cannot be read");
	rewind(file);
	buffer.start = malloc(bytes ? bytes : 1);
	buffer.bytes = bytes;
	if (!buffer.start || fread(buffer.start, 1, bytes, file) != (size_t)bytes)
		die(path, "cannot be read");
	fclose(file);
	return buffer;
}

static int open_types(struct buffer base, struct buffer split, char *refusal)
{
	return tacet_layout_open(&btf, base.start, base.bytes, split.start, split.bytes, refusal);
}

/* One line: the field, its offset and its size, or its value; or the refusal. */
static int print_field(const struct tacet_field *field)
{
	char refusal[TACET_LAYOUT_REFUSAL];
	struct tacet_field_place place;

	if (tacet_layout_find(&btf, field, 1, &place, refusal)) {
		printf("refused %s\n", refusal);
		return 1;
	}
	printf("%s.%s ", field->at[place.which].structure, field->at[place.which].member);
	if (field->kind == TACET_FIELD_ENUMERATOR)
		printf("= %lld\n", (long long)place.value);
	else
		printf("%u %u\n", place.offset, place.bytes);
	return 0;
}

static int print_table(struct buffer base, struct buffer split, const struct tacet_field *fields,
		       unsigned int count)
{
	char refusal[TACET_LAYOUT_REFUSAL];
	unsigned int i;
	int failed = 0;

	if (open_types(base, split, refusal)) {
		printf("refused %s\n", refusal);
		return 1;
	}
	for (i = 0; i < count; i++)
		failed |= print_field(&fields[i]);
	return failed;
}

static int table(char **paths)
{
	struct buffer base = read_file(paths[0]);
	int failed = print_table(base, read_file(paths[1]), tacet_nvme_controller_fields,
				 TACET_NVME_CONTROLLER_FIELDS);

	return failed | print_table(base, read_file(paths[2]), tacet_nvme_namespace_fields,
				    TACET_NVME_NAMESPACE_FIELDS);
}

static enum tacet_field_kind kind_of(const char *word)
{
	static const char *const words[] = { "pointer", "integer", "integers", "struct", "enum", "enumerator" };
	unsigned int i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(word, words[i]))
			return i;
	}
	die(word, "no such kind of field");
}

static int find(int count, char **words)
{
	struct tacet_field field = {
		.kind = kind_of(words[2]),
		.bytes = strtoul(words[3], NULL, 10),
		.type = strcmp(words[4], "-") ? words[4] : NULL,
	};
	int i;

	for (i = 0; i < 2 && i < count - 5; i++) {
		char *dot = strchr(words[5 + i], '.');

		if (!dot)
			die(words[5 + i], "a field is STRUCTURE.MEMBER");
		*dot = 0;
		field.at[i].structure = words[5 + i];
		field.at[i].member = dot + 1;
	}
	return print_table(read_file(words[0]), read_file(words[1]), &field, 1);
}

/* xorshift64*: the same rounds for the same seed on each machine. */
static u64 draw(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

/* Half of the changes hit the header and the first types, where they change most. */
static void damage(struct buffer *buffer, u64 *state)
{
	u64 changes = draw(state) % 8;

	if (!buffer->bytes)
		return;
	if (draw(state) % 4 == 0)
		buffer->bytes = draw(state) % buffer->bytes;
	while (changes-- && buffer->bytes) {
		size_t room = draw(state) % 2 && buffer->bytes > 512 ? 512 : buffer->bytes;
		size_t at = draw(state) % room;

		if (draw(state) % 2)
			buffer->start[at] ^= 1u << draw(state) % 8;
		else
			buffer->start[at] = draw(state);
	}
}

/* A copy as long as the damaged buffer: the sanitizer sees each byte read outside of it. */
static struct buffer damaged(struct buffer whole, u64 *state)
{
	struct buffer copy = copy_of(whole.start, whole.bytes), cut;

	damage(&copy, state);
	cut = copy_of(copy.start, copy.bytes);
	free(copy.start);
	if (!whole.start) {
		free(cut.start);
		cut.start = NULL;
	}
	return cut;
}

/* Tells how many copies were opened in spite of the damage: a fuzzer whose copies all fail at
 * once would test little. */
static int fuzz(char **words)
{
	struct buffer base = read_file(words[0]), split = read_file(words[1]);
	unsigned long rounds = strtoul(words[2], NULL, 10), opened = 0, round;
	u64 state = strtoull(words[3], NULL, 10) | 1;

	for (round = 0; round < rounds; round++) {
		struct buffer one = damaged(base, &state), two = damaged(split, &state);
		char refusal[TACET_LAYOUT_REFUSAL];
		struct tacet_field_place place;
		unsigned int i;

		if (!open_types(one, two, refusal)) {
			opened++;
			for (i = 0; i < TACET_NVME_CONTROLLER_FIELDS; i++)
				tacet_layout_find(&btf, &tacet_nvme_controller_fields[i], 1, &place, refusal);
			for (i = 0; i < TACET_NVME_NAMESPACE_FIELDS; i++)
				tacet_layout_find(&btf, &tacet_nvme_namespace_fields[i], 1, &place, refusal);
		}
		free(one.start);
		free(two.start);
	}
	printf("%lu of %lu opened\n", opened, rounds);
	return 0;
}

int main(int count, char **words)
{
	if (count == 5 && !strcmp(words[1], "table"))
		return table(words + 2);
	if (count >= 8 && !strcmp(words[1], "find"))
		return find(count - 2, words + 2);
	if (count == 6 && !strcmp(words[1], "fuzz"))
		return fuzz(words + 2);
	die("arguments", "table BASE NVME CORE, find BASE SPLIT KIND BYTES TYPE FIELD…, or fuzz BASE SPLIT ROUNDS SEED");
}
