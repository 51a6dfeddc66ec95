/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Shrinkers. Since 6.7 shrinker_alloc() allocates them.
 */
#ifndef _COMPAT_SHRINKER_H
#define _COMPAT_SHRINKER_H

#include <linux/shrinker.h>
#include <linux/slab.h>

typedef unsigned long (*compat_shrink_fn)(struct shrinker *shrinker, struct shrink_control *sc);

#ifdef COMPAT_HAS_shrinker_alloc
static inline struct shrinker *compat_shrinker_new(const char *name, compat_shrink_fn count,
						   compat_shrink_fn scan)
{
	struct shrinker *shrinker = shrinker_alloc(0, "%s", name);

	if (!shrinker)
		return NULL;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker_register(shrinker);
	return shrinker;
}

static inline void compat_shrinker_free(struct shrinker *shrinker)
{
	shrinker_free(shrinker);
}
#else
/**
 * compat_shrinker_new() - register a shrinker
 * @name:	its name in debugfs
 * @count:	returns the number of objects
 * @scan:	frees some of them
 *
 * Context: process.
 * Return: the shrinker, for compat_shrinker_free(), or NULL if there is no memory.
 */
static inline struct shrinker *compat_shrinker_new(const char *name, compat_shrink_fn count,
						   compat_shrink_fn scan)
{
	struct shrinker *shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);

	if (!shrinker)
		return NULL;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker->seeks = DEFAULT_SEEKS;
	if (!register_shrinker(shrinker, "%s", name))
		return shrinker;
	kfree(shrinker);
	return NULL;
}

/**
 * compat_shrinker_free() - unregister and free a shrinker
 * @shrinker:	the shrinker; neither of its functions runs afterwards
 *
 * Context: process.
 */
static inline void compat_shrinker_free(struct shrinker *shrinker)
{
	unregister_shrinker(shrinker);
	kfree(shrinker);
}
#endif

#endif /* _COMPAT_SHRINKER_H */
