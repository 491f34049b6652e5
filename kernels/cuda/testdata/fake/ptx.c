#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "ptx.h"

enum { OPERANDS = 6, PARAMS = 12, REGISTERS = 128, LANES = 32 };

enum kind { NONE, REG, PAIR, NUMBER, ADDRESS, PARAM, LABEL, CTAID_X, CTAID_Y, NTID_X, NCTAID_X, NCTAID_Y, TID_X };

struct operand {
	enum kind kind;
	int reg, high; /* high is the second one of a pair */
	uint64_t number; /* of an address: what is added */
	char name[32]; /* of a label */
};

/* What instructions do, and what they are called. */
#define OPS(X) \
	X(SHFL, "shfl.sync.bfly") X(MARK, ":") X(RET, "ret") X(BRA, "bra") X(ST, "st") X(MOV, "mov") X(LD_PARAM, "ld.param") X(LD, "ld") \
	X(CVT_U32, "cvt.u32") X(CVT_U64, "cvt.u64") X(MUL_WIDE, "mul.wide") X(MUL_LO, "mul.lo") X(MAD_LO, "mad.lo") X(ADD, "add") X(SUB, "sub") \
	X(MUL, "mul") X(NEG, "neg") X(FMA, "fma.rn") X(SHL, "shl") X(AND, "and") X(DIV, "div") X(REM, "rem") X(SELP, "selp") \
	X(SETP_LT, "setp.lt") X(SETP_GE, "setp.ge") X(SETP_EQ, "setp.eq") X(SETP_NE, "setp.ne")
#define X(op, name) op,
enum op { OPS(X) UNKNOWN };
#undef X

struct instruction {
	int guard, negated; /* a register; -1 if none */
	enum op op;
	char type; /* of the numbers: 'b', 'u', 's', 'f' */
	int bits; /* of each */
	int target; /* of a branch */
	struct operand o[OPERANDS];
};

/* known returns whether the numbers of an instruction may be of its type. */
static int known(const struct instruction *i) {
	int real = i->type == 'f', sized = i->bits == 32 || i->bits == 64;
	switch (i->op) {
	case MARK:
	case RET:
	case BRA:
		return 1;
	case SHFL:
	case MUL_WIDE:
	case DIV:
	case REM:
		return !real && i->bits == 32;
	case SUB:
	case MUL_LO:
	case MAD_LO:
	case SHL:
	case AND:
	case CVT_U32:
	case CVT_U64:
		return !real && sized;
	case MUL:
	case NEG:
	case FMA:
		return real && sized;
	default:
		return i->op != UNKNOWN && sized;
	}
}

struct ptx_kernel {
	char name[64], params[PARAMS][16], registers[REGISTERS][16];
	int n_params, n_registers, n;
	struct instruction *code;
	struct ptx_kernel *next;
};

struct ptx_module {
	struct ptx_kernel *kernels;
};

static int register_of(struct ptx_kernel *k, const char *name) {
	for (int i = 0; i < k->n_registers; i++)
		if (strcmp(k->registers[i], name) == 0)
			return i;
	if (k->n_registers == REGISTERS || strlen(name) >= sizeof k->registers[0])
		return -1;
	strcpy(k->registers[k->n_registers], name);
	return k->n_registers++;
}

static int param_of(const struct ptx_kernel *k, const char *name) {
	for (int i = 0; i < k->n_params; i++)
		if (strcmp(k->params[i], name) == 0)
			return i;
	return -1;
}

static const struct {
	const char *name;
	enum kind kind;
} specials[] = {{"%ctaid.x", CTAID_X}, {"%ctaid.y", CTAID_Y}, {"%ntid.x", NTID_X}, {"%nctaid.x", NCTAID_X}, {"%nctaid.y", NCTAID_Y}, {"%tid.x", TID_X}};

/* operand reads one operand, without blanks around it. */
static int operand(struct ptx_kernel *k, char *s, struct operand *o) {
	char first[32], second[32];
	for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
		if (strcmp(s, specials[i].name) == 0) {
			o->kind = specials[i].kind;
			return 1;
		}
	if (s[0] == '%') {
		o->kind = REG;
		return (o->reg = register_of(k, s)) >= 0;
	}
	if (sscanf(s, "{%31[%a-z0-9], %31[%a-z0-9]}", first, second) == 2) {
		o->kind = PAIR;
		return (o->reg = register_of(k, first)) >= 0 && (o->high = register_of(k, second)) >= 0;
	}
	if (s[0] == '[') {
		s[strcspn(s, "]")] = 0;
		char *plus = strchr(s, '+');
		if (plus) {
			*plus = 0;
			o->number = strtoull(plus + 1, NULL, 0);
		}
		if (s[1] == '%') {
			o->kind = ADDRESS;
			return (o->reg = register_of(k, s + 1)) >= 0;
		}
		o->kind = PARAM;
		return (o->reg = param_of(k, s + 1)) >= 0;
	}
	if (isdigit((unsigned char)s[0])) {
		o->kind = NUMBER;
		o->number = s[1] == 'd' || s[1] == 'f' ? strtoull(s + 2, NULL, 16) : strtoull(s, NULL, 0);
		return 1;
	}
	o->kind = LABEL;
	return snprintf(o->name, sizeof o->name, "%s", s) < (int)sizeof o->name;
}

static char *trim(char *s) {
	while (isspace((unsigned char)*s))
		s++;
	for (size_t n = strlen(s); n > 0 && isspace((unsigned char)s[n - 1]); n--)
		s[n - 1] = 0;
	return s;
}

/* statement reads an instruction without the semicolon, or a label. */
static int statement(struct ptx_kernel *k, char *s) {
	struct instruction *i = &k->code[k->n];
	*i = (struct instruction){.guard = -1};
	if (s[0] == '.')
		return strncmp(s, ".reg ", 5) == 0;
	if (s[0] == '@') {
		i->negated = s[1] == '!';
		char *end = s + strcspn(s, " \t");
		if (*end == 0)
			return 0;
		*end = 0;
		if ((i->guard = register_of(k, s + 1 + i->negated)) < 0)
			return 0;
		s = trim(end + 1);
	}
	size_t n = strcspn(s, " \t");
	char word[64];
	if (n >= sizeof word)
		return 0;
	memcpy(word, s, n);
	word[n] = 0;
	char *type = strrchr(word, '.');
	if (type) {
		*type = 0;
		i->type = type[1];
		i->bits = atoi(type + 2);
	}
	static const char *const names[] = {
#define X(op, name) name,
		OPS(X)
#undef X
	};
	while (i->op != UNKNOWN && strcmp(names[i->op], word))
		i->op++;
	if (!known(i)) {
		fprintf(stderr, "fake: an instruction that is not understood: %s%s%s\n", word, type ? "." : "", type ? type + 1 : "");
		return 0;
	}
	s = trim(s + n);
	for (int o = 0; *s; o++) {
		char *end = s + strcspn(s, s[0] == '{' ? "}" : ",");
		if (*end == '}')
			end++;
		int more = *end == ',';
		*end = 0;
		if (o == OPERANDS || !operand(k, trim(s), &i->o[o]))
			return 0;
		s = more ? trim(end + 1) : end;
	}
	k->n++;
	return 1;
}

static int label_of(const struct ptx_kernel *k, const char *name) {
	for (int i = 0; i < k->n; i++)
		if (k->code[i].op == MARK && strcmp(k->code[i].o[0].name, name) == 0)
			return i;
	return -1;
}

/* kernel reads what follows ".entry", up to the brace at the end. */
static struct ptx_kernel *kernel(char **text) {
	struct ptx_kernel *k = calloc(1, sizeof *k);
	char *open = strchr(*text, '('), *close = strchr(*text, ')'), *body = strchr(*text, '{'), *end = strstr(*text, "\n}");
	if (!open || !close || !body || !end || open > close || close > body || body > end)
		goto bad;
	*open = *close = *end = 0;
	snprintf(k->name, sizeof k->name, "%s", trim(*text));
	for (char *p = open + 1, *save; (p = strtok_r(p, ",", &save)) != NULL; p = NULL)
		if (k->n_params == PARAMS || sscanf(trim(p), ".param .u64 %15s", k->params[k->n_params++]) != 1)
			goto bad;
	k->code = calloc((size_t)(end - body), sizeof *k->code);
	for (char *s = body + 1; *(s = trim(s));) {
		char *stop = s + strcspn(s, ";:");
		int label = *stop == ':';
		if (*stop == 0)
			goto bad;
		*stop = 0;
		if (label)
			k->code[k->n++] = (struct instruction){.guard = -1, .op = MARK};
		if (label && !operand(k, s, &k->code[k->n - 1].o[0]))
			goto bad;
		if (!label && !statement(k, s))
			goto bad;
		s = stop + 1;
	}
	for (int b = 0; b < k->n; b++)
		if (k->code[b].op == BRA && (k->code[b].target = label_of(k, k->code[b].o[0].name)) < 0)
			goto bad;
	*text = end + 2;
	return k;
bad:
	free(k->code);
	free(k);
	return NULL;
}

struct ptx_module *ptx_parse(const char *original) {
	char *text = strdup(original), *s = text;
	for (char *c = text; (c = strstr(c, "//")) != NULL;)
		while (*c && *c != '\n')
			*c++ = ' ';
	struct ptx_module *m = calloc(1, sizeof *m);
	while ((s = strstr(s, ".entry ")) != NULL) {
		s += strlen(".entry ");
		struct ptx_kernel *k = kernel(&s);
		if (k == NULL) {
			fprintf(stderr, "fake: a kernel that is not understood, before: %.60s\n", s);
			ptx_free(m);
			m = NULL;
			break;
		}
		k->next = m->kernels;
		m->kernels = k;
	}
	free(text);
	return m;
}

void ptx_free(struct ptx_module *m) {
	while (m->kernels) {
		struct ptx_kernel *k = m->kernels;
		m->kernels = k->next;
		free(k->code);
		free(k);
	}
	free(m);
}

struct ptx_kernel *ptx_find(struct ptx_module *m, const char *name) {
	struct ptx_kernel *k = m->kernels;
	while (k && strcmp(k->name, name))
		k = k->next;
	return k;
}

int ptx_params(const struct ptx_kernel *k) { return k->n_params; }

struct thread {
	uint64_t r[REGISTERS];
	int at; /* the next instruction; -1 at the end */
	unsigned id;
};

struct grid {
	const struct ptx_kernel *k;
	const uint64_t *params;
	unsigned x, y, gx, gy, threads;
	CUdeviceptr from, to; /* memory that has been looked up */
	int bad;
};

static uint64_t get(struct grid *g, const struct thread *t, const struct operand *o) {
	switch (o->kind) {
	case REG:
		return t->r[o->reg];
	case PAIR:
		return (t->r[o->reg] & 0xffffffff) | t->r[o->high] << 32;
	case NUMBER:
		return o->number;
	case ADDRESS:
		return t->r[o->reg] + o->number;
	case PARAM:
		return g->params[o->reg];
	case CTAID_X:
		return g->x;
	case CTAID_Y:
		return g->y;
	case NTID_X:
		return g->threads;
	case NCTAID_X:
		return g->gx;
	case NCTAID_Y:
		return g->gy;
	case TID_X:
		return t->id;
	default:
		g->bad = 1;
		return 0;
	}
}

static float f32(uint64_t x) {
	uint32_t low = (uint32_t)x;
	float f;
	memcpy(&f, &low, 4);
	return f;
}

static double f64(uint64_t x) {
	double f;
	memcpy(&f, &x, 8);
	return f;
}

static uint64_t of32(float f) {
	uint32_t x;
	memcpy(&x, &f, 4);
	return x;
}

static uint64_t of64(double f) {
	uint64_t x;
	memcpy(&x, &f, 8);
	return x;
}

/* at returns where n bytes of memory are, which it looks up only where they are not
 * of the same allocation as those before. */
static void *at(struct grid *g, CUdeviceptr p, size_t n) {
	if (p < g->from || p + n > g->to) {
		if (fake_range(p, n, &g->from, &g->to) == NULL) {
			g->bad = 1;
			return NULL;
		}
	}
	return fake_address(p);
}

/* step runs one instruction; it returns 0 if that is to be done with the others of
 * the warp. */
static int step(struct grid *g, struct thread *t) {
	const struct instruction *i = &g->k->code[t->at];
	int narrow = i->bits == 32, real = i->type == 'f';
	size_t bytes = narrow ? 4 : 8;
	void *p;
	if (i->guard >= 0 && (t->r[i->guard] != 0) == i->negated) {
		t->at++;
		return 1;
	}
	switch (i->op) {
	case SHFL:
		return 0;
	case MARK:
		t->at++;
		return 1;
	case RET:
		t->at = -1;
		return 1;
	case BRA:
		t->at = i->target;
		return 1;
	case ST: {
		uint64_t x = get(g, t, &i->o[1]);
		if ((p = at(g, get(g, t, &i->o[0]), bytes)) != NULL)
			memcpy(p, &x, bytes);
		t->at++;
		return 1;
	}
	default:
		t->at++;
	}
	uint64_t a = get(g, t, &i->o[1]), b = i->o[2].kind ? get(g, t, &i->o[2]) : 0, c = i->o[3].kind ? get(g, t, &i->o[3]) : 0, x = 0;
	uint64_t mask = narrow ? 0xffffffff : ~0ull;
	int less = 0, equal = 0;
	switch (i->op) {
	case MOV:
	case LD_PARAM:
		x = a;
		break;
	case LD:
		if ((p = at(g, a, bytes)) != NULL)
			memcpy(&x, p, bytes);
		break;
	case CVT_U32: /* what has bits is where it comes from */
		x = a & 0xffffffff;
		break;
	case CVT_U64:
		x = a & mask;
		mask = ~0ull;
		break;
	case MUL_WIDE:
		x = (a & 0xffffffff) * (b & 0xffffffff);
		mask = ~0ull;
		break;
	case MUL_LO:
		x = a * b;
		break;
	case MAD_LO:
		x = a * b + c;
		break;
	case ADD:
		x = !real ? a + b : narrow ? of32(f32(a) + f32(b)) : of64(f64(a) + f64(b));
		break;
	case SUB:
		x = a - b;
		break;
	case MUL:
		x = narrow ? of32(f32(a) * f32(b)) : of64(f64(a) * f64(b));
		break;
	case NEG:
		x = narrow ? of32(-f32(a)) : of64(-f64(a));
		break;
	case FMA:
		x = narrow ? of32(fmaf(f32(a), f32(b), f32(c))) : of64(fma(f64(a), f64(b), f64(c)));
		break;
	case SHL:
		x = a << b;
		break;
	case AND:
		x = a & b;
		break;
	case DIV:
	case REM:
		if ((uint32_t)b == 0)
			g->bad = 1;
		else
			x = i->op == DIV ? (uint32_t)a / (uint32_t)b : (uint32_t)a % (uint32_t)b;
		break;
	case SELP:
		x = c ? a : b;
		break;
	default: /* a comparison */
		if (real) {
			double u = narrow ? f32(a) : f64(a), v = narrow ? f32(b) : f64(b);
			less = u < v;
			equal = u == v;
		} else if (narrow) {
			less = i->type == 's' ? (int32_t)a < (int32_t)b : (uint32_t)a < (uint32_t)b;
			equal = (uint32_t)a == (uint32_t)b;
		} else {
			less = i->type == 's' ? (int64_t)a < (int64_t)b : a < b;
			equal = a == b;
		}
		x = i->op == SETP_LT ? less : i->op == SETP_EQ ? equal : i->op == SETP_NE ? !equal : !less;
	}
	if (i->o[0].kind == PAIR) {
		t->r[i->o[0].reg] = x & 0xffffffff;
		t->r[i->o[0].high] = x >> 32;
	} else if (i->o[0].kind == REG)
		t->r[i->o[0].reg] = x & mask;
	else
		g->bad = 1;
	return 1;
}

/* exchange has the threads of a warp, all of which must be at the same one, do a
 * shfl.sync.bfly. */
static void exchange(struct grid *g, struct thread *warp, unsigned n) {
	const struct instruction *i = &g->k->code[warp[0].at];
	uint64_t was[LANES];
	for (unsigned l = 0; l < n; l++)
		was[l] = get(g, &warp[l], &i->o[1]);
	for (unsigned l = 0; l < n; l++) {
		unsigned from = l ^ (unsigned)get(g, &warp[l], &i->o[2]);
		if (warp[l].at != warp[0].at || from >= n || get(g, &warp[l], &i->o[3]) != 31 || get(g, &warp[l], &i->o[4]) != 0xffffffff) {
			g->bad = 1;
			return;
		}
	}
	for (unsigned l = 0; l < n; l++) {
		warp[l].r[i->o[0].reg] = was[l ^ (unsigned)i->o[2].number] & 0xffffffff;
		warp[l].at++;
	}
}

int ptx_run(const struct ptx_kernel *k, const uint64_t *params, unsigned gx, unsigned gy, unsigned threads) {
	struct grid g = {.k = k, .params = params, .gx = gx, .gy = gy, .threads = threads};
	struct thread *warp = malloc(LANES * sizeof *warp);
	for (uint64_t b = (uint64_t)gx * gy; b-- > 0 && !g.bad;)
		for (unsigned first = 0; first < threads && !g.bad; first += LANES) {
			unsigned n = threads - first < LANES ? threads - first : LANES, ended = 0;
			g.x = (unsigned)(b % gx);
			g.y = (unsigned)(b / gx);
			memset(warp, 0xa5, LANES * sizeof *warp);
			for (unsigned l = 0; l < n; l++) {
				warp[l].at = 0;
				warp[l].id = first + l;
			}
			while (ended < n && !g.bad) {
				ended = 0;
				for (unsigned l = 0; l < n && !g.bad; l++) {
					while (warp[l].at >= 0 && warp[l].at < k->n && !g.bad && step(&g, &warp[l]))
						;
					ended += warp[l].at < 0;
				}
				if (ended == 0)
					exchange(&g, warp, n);
				else if (ended < n)
					g.bad = 1; /* some wait for what has ended */
			}
		}
	free(warp);
	return !g.bad;
}
