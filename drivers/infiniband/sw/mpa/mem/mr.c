// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Access to memory regions: from an STag, a range and the rights needed to the memory,
 * and the two ways a region stops being accessible.
 *
 * An access holds a reference, with softirqs off, while the bytes of a burst are
 * copied: it never sleeps and never lasts long. Deregistration waits for the last
 * one in its sleep. Invalidation, which happens in softirq too, spins: the accesses
 * it waits for run on other CPUs, cannot be interrupted by it, and wait for nobody,
 * for who invalidates or registers has ended his own access before. It waits for no others:
 * nobody begins one while the region is not valid, and nobody makes it valid meanwhile.
 *
 * How regions come to be is in mr_reg.c.
 */
#include <linux/bottom_half.h>
#include <linux/rcupdate.h>
#include <linux/uaccess.h>

#include "core/dev.h"
#include "mem/mr.h"

/*
 * Mostly it is the region of the last time. It may be gone only if one was deregistered
 * since; and if that happens now, it is freed when we are out of here: RCU.
 */
static struct rnic_mr *find_region(struct rnic_mem *mem, u32 stag, int access)
{
	struct rnic_known *known = &mem->known[!access];
	/* Before the search. Pairs with rnic_mr_dereg(). */
	s64 epoch = atomic64_read_acquire(&mem->dev->mr_epoch);

	if (known->mr && known->epoch == epoch && READ_ONCE(known->mr->stag) == stag)
		return known->mr;
	known->mr = xa_load(&mem->dev->mrs, stag >> 8);
	known->epoch = epoch;
	return known->mr;
}

/* STag 0 is kernel consumers' key to all memory, for local access only. */
static struct rnic_mr *choose_region(struct rnic_mem *mem, u32 stag, int access)
{
	if (stag)
		return find_region(mem, stag, access);
	if (rnic_pd_is_kernel(mem->pd) && !(access & RNIC_REMOTE_RIGHTS))
		return mem->dev->dma_mr;
	return NULL;
}

/* Is it an address by which the kernel knows memory? That may be not mapped all the same. */
static bool is_memory(u64 addr)
{
	return virt_addr_valid((void *)(uintptr_t)addr);
}

static bool is_readable(u64 addr)
{
	u8 byte;

	return is_memory(addr) && !get_kernel_nofault(byte, (u8 *)(uintptr_t)addr);
}

/*
 * May a peer name these addresses by the key to all memory? There has to be memory at both
 * ends. What is in between, or not to be written to, is found when it is copied.
 */
static enum rnic_mr_fault check_peer_address(u64 addr, u32 len)
{
	return is_readable(addr) && is_readable(addr + max(len, 1U) - 1) ? RNIC_MR_OK :
		RNIC_MR_BOUNDS;
}

/* In the order of RFC 5040 section 5.2: the first that fails is reported. */
static enum rnic_mr_fault check_access(const struct rnic_mem *mem, const struct rnic_mr *mr,
				       u32 stag, u64 addr, u32 len, int access)
{
	u64 off;

	/* Pairs with the release in rnic_mr_fastreg(). */
	if (!smp_load_acquire(&mr->valid) || READ_ONCE(mr->stag) != stag)
		return RNIC_MR_STAG;
	if (mr->ibmr.pd != mem->pd && mr != mem->dev->dma_mr)
		return RNIC_MR_ASSOC;
	if (access & ~mr->access)
		return RNIC_MR_ACCESS;
	if (addr + len < addr)
		return RNIC_MR_WRAP;
	off = addr - mr->base;
	if (addr < mr->base || off > mr->len || len > mr->len - off)
		return RNIC_MR_BOUNDS;
	if (rnic_mr_is_wild(mr, access))
		return check_peer_address(addr, len);
	return RNIC_MR_OK;
}

/*
 * Have an access to the region of @stag, valid or invalidated at this moment. With softirqs
 * off it is not freed between the search and the reference (RCU). Of one that was not valid
 * before there is no reference, because who invalidates may be waiting for the last.
 */
static bool begin_access(struct rnic_mem *mem, u32 stag, int access)
{
	struct rnic_mr *mr;

	local_bh_disable();
	mr = choose_region(mem, stag, access);
	if (!mr || !READ_ONCE(mr->valid) || !refcount_inc_not_zero(&mr->refs)) {
		local_bh_enable();
		return false;
	}
	mem->mr = mr;
	/* Count, then look: pairs with look after invalidating. */
	smp_mb__after_atomic();
	return true;
}

/**
 * rnic_mr_get() - start an access to memory, or go on with one
 * @mem:	the queue pair's memory
 * @stag:	STag, local or remote
 * @addr:	address (tagged offset) of the first byte
 * @len:	bytes; with 0 the STag is checked all the same
 * @access:	IB_ACCESS_* rights needed, all of them; 0 for local reading
 *
 * On success @mem->mr is the region, and softirqs are off until rnic_mr_put(): do not sleep.
 * What was allowed is looked at each time, only the way to the region is shortened. Softirq
 * and process context, interrupts enabled, the queue pair's data path the caller's.
 *
 * Return: RNIC_MR_OK, or what is wrong.
 */
enum rnic_mr_fault rnic_mr_get(struct rnic_mem *mem, u32 stag, u64 addr, u32 len, int access)
{
	enum rnic_mr_fault fault;

	/* The region without an STag has other conditions: found anew each time. */
	if (!mem->mr || !stag || READ_ONCE(mem->mr->stag) != stag) {
		rnic_mr_put(mem);
		if (!begin_access(mem, stag, access))
			return RNIC_MR_STAG;
	}
	fault = check_access(mem, mem->mr, stag, addr, len, access);
	if (fault)
		rnic_mr_put(mem);
	return fault;
}

/**
 * rnic_mr_write_wild() - copy to an address that a peer names
 * @addr:	first byte, in the range given to rnic_mr_get(), of a rnic_mr_is_wild()
 * @src:	what to copy
 * @len:	bytes of one page
 *
 * The page is memory, but may be not mapped, or read only. (copy_to_kernel_nofault() does
 * the same, but is not exported.)
 *
 * Context: as for rnic_mr_get().
 * Return: 0, or -EFAULT with some bytes written.
 */
int rnic_mr_write_wild(u64 addr, const u8 *src, u32 len)
{
	u8 *to = (u8 *)(uintptr_t)addr;
	int ret = 0;

	if (!is_memory(addr))
		return -EFAULT;
	pagefault_disable();
	for (; len >= sizeof(u64) && IS_ALIGNED((uintptr_t)to | (uintptr_t)src, sizeof(u64));
	     to += sizeof(u64), src += sizeof(u64), len -= sizeof(u64))
		__put_kernel_nofault(to, src, u64, fault);
	for (; len; to++, src++, len--)
		__put_kernel_nofault(to, src, u8, fault);
out:
	pagefault_enable();
	return ret;
fault:
	ret = -EFAULT;
	goto out;
}

/**
 * rnic_mr_read_wild() - copy from an address that a peer names
 * @addr:	first byte, in the range given to rnic_mr_get(), of a rnic_mr_is_wild()
 * @dst:	where to copy
 * @len:	bytes, in that range
 *
 * Context: as for rnic_mr_get().
 * Return: 0, or -EFAULT.
 */
int rnic_mr_read_wild(u64 addr, void *dst, u32 len)
{
	u32 n;

	for (; len; addr += n, dst += n, len -= n) {
		n = min_t(u32, len, PAGE_SIZE - (addr & ~PAGE_MASK));
		if (!is_memory(addr) ||
		    copy_from_kernel_nofault(dst, (void *)(uintptr_t)addr, n))
			return -EFAULT;
	}
	return 0;
}

/**
 * rnic_mr_end() - end the access
 * @mem:	the queue pair's memory, being accessed
 */
void rnic_mr_end(struct rnic_mem *mem)
{
	rnic_mr_drop(mem->mr);
	mem->mr = NULL;
	local_bh_enable();
}

static int set_fastreg(struct rnic_mr *mr, const struct rnic_mem *mem, u32 key, int access)
{
	u32 blk_off;
	u64 room;

	if (mr->ibmr.pd != mem->pd || mr->kind != RNIC_MR_FAST || mr->valid)
		return -EINVAL;
	blk_off = mr->ibmr.iova & (BIT_ULL(mr->next_shift) - 1);
	room = (u64)mr->nnext << mr->next_shift;
	if (blk_off > room || mr->ibmr.length > room - blk_off)
		return -EINVAL;
	memcpy(mr->blk, mr->next, mr->nnext * sizeof(*mr->blk));
	mr->nblk = mr->nnext;
	mr->blk_shift = mr->next_shift;
	mr->blk_off = blk_off;
	mr->base = mr->ibmr.iova;
	mr->len = mr->ibmr.length;
	mr->stream = mem->stream;
	mr->access = access;
	WRITE_ONCE(mr->stag, key);
	/* Pairs with the acquire in check_access(). */
	smp_store_release(&mr->valid, true);
	return 0;
}

/**
 * rnic_mr_fastreg() - carry out a REG_MR work request
 * @mem:	the queue pair's memory; an access is ended
 * @ibmr:	region, its pages set by rnic_mr_map_sg(); it may be gone by now
 * @key:	its new STag: the same index, a key of the consumer's choice
 * @access:	IB_ACCESS_* rights to grant
 *
 * Any context but hard interrupts.
 *
 * Return: 0, or -EINVAL when the region is gone, is not one of the protection domain for this
 * purpose, is valid already, or is not covered by its pages.
 */
int rnic_mr_fastreg(struct rnic_mem *mem, const struct ib_mr *ibmr, u32 key, int access)
{
	struct rnic_mr *mr;
	int ret = -EINVAL;

	/* Who invalidates waits for accesses with the lock held. */
	rnic_mr_put(mem);
	/* The struct is not freed meanwhile (RCU), and with a reference nor are the blocks. */
	local_bh_disable();
	mr = xa_load(&mem->dev->mrs, key >> 8);
	if (mr && &mr->ibmr == ibmr) {
		spin_lock(&mr->lock);
		if (refcount_inc_not_zero(&mr->refs)) {
			ret = set_fastreg(mr, mem, key, access);
			rnic_mr_drop(mr);
		}
		spin_unlock(&mr->lock);
	}
	local_bh_enable();
	return ret;
}

/*
 * A peer may invalidate what is valid (RFC 5040, 7.2), was registered for it and grants it
 * something. Other peers of a protection domain must not (RFC 5042, 6.4.5).
 */
static bool peer_may_invalidate(const struct rnic_mr *mr, const struct rnic_mem *mem)
{
	return mr->valid && mr->stream == mem->stream && mr->access & RNIC_REMOTE_RIGHTS;
}

static int check_invalidate(const struct rnic_mr *mr, const struct rnic_mem *mem, u32 stag,
			    bool remote)
{
	if (mr->stag != stag)
		return -EINVAL;
	if (mr->ibmr.pd != mem->pd)
		return -EPERM;
	if (mr->kind != RNIC_MR_FAST)
		return -EACCES;
	return remote && !peer_may_invalidate(mr, mem) ? -EACCES : 0;
}

static int invalidate_region(struct rnic_mr *mr, const struct rnic_mem *mem, u32 stag, bool remote)
{
	int ret;

	/* With the lock nobody registers it anew, to be waited for too. */
	spin_lock(&mr->lock);
	ret = check_invalidate(mr, mem, stag, remote);
	if (!ret) {
		/* Invalidate, then look: pairs with rnic_mr_get(). */
		smp_store_mb(mr->valid, false);
		while (refcount_read(&mr->refs) > 1)
			cpu_relax();
	}
	spin_unlock(&mr->lock);
	return ret;
}

/**
 * rnic_mr_invalidate() - make an STag invalid
 * @mem:	the queue pair's memory; an access is ended
 * @stag:	STag
 * @remote:	the peer asks for it
 *
 * When this returns no access goes on: it spins for those that did, each of which ends with
 * its burst, and for no others. Any context but hard interrupts. The consumer may
 * invalidate an STag that is not valid, through any queue pair of the protection domain; the
 * peer only a valid one, of a region whose REG_MR this connection carried.
 *
 * Return: 0; -EINVAL when there is no such STag; -EPERM when it is of another
 * PD; -EACCES when it cannot be invalidated.
 */
int rnic_mr_invalidate(struct rnic_mem *mem, u32 stag, bool remote)
{
	struct rnic_mr *mr;
	int ret = -EINVAL;

	rnic_mr_put(mem);
	/* It is not freed meanwhile: RCU. */
	local_bh_disable();
	mr = stag ? xa_load(&mem->dev->mrs, stag >> 8) : NULL;
	if (mr)
		ret = invalidate_region(mr, mem, stag, remote);
	local_bh_enable();
	return ret;
}
