// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Access to memory regions by STag, and invalidation. Registration and deregistration are in
 * mr_reg.c.
 *
 * An access holds a reference, with softirqs off, while the bytes of a burst are copied. It
 * never sleeps. Deregistration sleeps until the last access ends.
 *
 * Invalidation spins instead, because it also runs in softirq. The spin is bounded: the
 * accesses run on other CPUs with softirqs off and wait for nothing, because each caller
 * that invalidates or registers ends its own access first. No new access begins while the
 * region is not valid, and mr->lock keeps REG_MR from making it valid during the spin.
 */
#include <linux/bottom_half.h>
#include <linux/rcupdate.h>
#include <linux/uaccess.h>

#include "core/regions.h"
#include "mem/mr.h"

/*
 * Fast path: reuse the region found last if none was deregistered since (the epoch is
 * unchanged). A concurrent deregistration frees it only after an RCU grace period, which
 * cannot end while softirqs are off here.
 */
static struct rnic_mr *find_region(struct rnic_mem *mem, u32 stag, int access)
{
	struct rnic_known *known = &mem->known[!access];
	/* Before the search. Pairs with rnic_mr_dereg(). */
	s64 epoch = atomic64_read_acquire(&mem->regions->epoch);

	if (known->mr && known->epoch == epoch && READ_ONCE(known->mr->stag) == stag)
		return known->mr;
	known->mr = xa_load(&mem->regions->all, stag >> 8);
	known->epoch = epoch;
	return known->mr;
}

/* STag 0 is the key of kernel consumers to all memory, for local access only. */
static struct rnic_mr *choose_region(struct rnic_mem *mem, u32 stag, int access)
{
	if (stag)
		return find_region(mem, stag, access);
	if (rdma_is_kernel_res(&mem->pd->res) && !(access & RNIC_REMOTE_RIGHTS))
		return mem->regions->dma;
	return NULL;
}

/* True if @addr is in the kernel's linear map. The page may still be unmapped. */
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
 * Check a range that a peer names with the key to all memory: both ends must be readable.
 * Holes in between and read-only pages make the copy fail later.
 */
static enum rnic_mr_fault check_peer_address(u64 addr, u32 len)
{
	return is_readable(addr) && is_readable(addr + max(len, 1U) - 1) ? RNIC_MR_OK :
		RNIC_MR_BOUNDS;
}

/*
 * The checks of RFC 5041 section 7.1 and RFC 5040 section 7.2, which demand no order. The first
 * failure is the one reported.
 */
static enum rnic_mr_fault check_access(const struct rnic_mem *mem, const struct rnic_mr *mr,
				       u32 stag, u64 addr, u32 len, int access)
{
	u64 off;

	/* Pairs with the release in rnic_mr_fastreg(). */
	if (!smp_load_acquire(&mr->valid) || READ_ONCE(mr->stag) != stag)
		return RNIC_MR_STAG;
	if (mr->ibmr.pd != mem->pd && mr != mem->regions->dma)
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
 * Take a reference to the region of @stag and leave softirqs off. RCU keeps the region from
 * being freed between the search and the reference. Take none if it is already invalid,
 * because an invalidation may be spinning until the last reference goes; check_access()
 * tests again for one that runs now.
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
	/* Take the reference before reading mr->valid; pairs with invalidate_region(). */
	smp_mb__after_atomic();
	return true;
}

/**
 * rnic_mr_get() - start or continue an access to memory
 * @mem:	the queue pair's memory
 * @stag:	STag, local or remote
 * @addr:	address (tagged offset) of the first byte
 * @len:	bytes; 0 still checks the STag
 * @access:	IB_ACCESS_* rights needed, all of them; 0 for local reading
 *
 * On success @mem->mr is the region, and softirqs stay off until rnic_mr_put(). The rights and
 * bounds are checked at each call (RFC 5041 section 7.1); an access to the same STag only
 * saves the search.
 *
 * Context: process or softirq, interrupts enabled, with the queue pair's data path.
 * Return: RNIC_MR_OK, or the first check that failed.
 */
enum rnic_mr_fault rnic_mr_get(struct rnic_mem *mem, u32 stag, u64 addr, u32 len, int access)
{
	enum rnic_mr_fault fault;

	/* The region of STag 0 depends on @access: search each time. */
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
 * rnic_mr_write_wild() - copy to a kernel address that a peer names
 * @addr:	first byte, in the range given to rnic_mr_get(), of a rnic_mr_is_wild() region
 * @src:	source
 * @len:	bytes; the range must not cross a page
 *
 * The page may be unmapped or read only. (copy_to_kernel_nofault() does the same, but is not
 * exported.)
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
 * rnic_mr_read_wild() - copy from a kernel address that a peer names
 * @addr:	first byte, in the range given to rnic_mr_get(), of a rnic_mr_is_wild() region
 * @dst:	destination
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
 * rnic_mr_end() - end an access and enable softirqs
 * @mem:	the queue pair's memory, being accessed
 *
 * Context: as for rnic_mr_get().
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
 * @mem:	the queue pair's memory; its access, if any, is ended
 * @ibmr:	region, its pages set by rnic_mr_map_sg(); the consumer may have freed it
 * @key:	its new STag: the same index, a key of the consumer's choice
 * @access:	IB_ACCESS_* rights to grant
 *
 * Context: process or softirq, with the queue pair's data path.
 * Return: 0, or -EINVAL if the region is gone, belongs to another protection domain, was not
 * made by rnic_mr_alloc(), is already valid, or is longer than its pages.
 */
int rnic_mr_fastreg(struct rnic_mem *mem, const struct ib_mr *ibmr, u32 key, int access)
{
	struct rnic_mr *mr;
	int ret = -EINVAL;

	/* rnic_mr_invalidate() holds mr->lock while it waits for accesses. */
	rnic_mr_put(mem);
	/* RCU keeps the struct, and a reference keeps the blocks. */
	local_bh_disable();
	mr = xa_load(&mem->regions->all, key >> 8);
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
 * A peer may invalidate a region that is valid (RFC 5040 section 7.2), was registered on its
 * own connection, and grants remote rights. Other peers of the protection domain must not
 * (RFC 5042 section 6.4.5).
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

	/* The lock keeps REG_MR from making the region valid during the spin below. */
	spin_lock(&mr->lock);
	ret = check_invalidate(mr, mem, stag, remote);
	if (!ret) {
		/* Clear mr->valid before reading mr->refs; pairs with begin_access(). */
		smp_store_mb(mr->valid, false);
		while (refcount_read(&mr->refs) > 1)
			cpu_relax();
	}
	spin_unlock(&mr->lock);
	return ret;
}

/**
 * rnic_mr_invalidate() - make an STag invalid
 * @mem:	the queue pair's memory; its access, if any, is ended
 * @stag:	STag
 * @remote:	the peer asks for it (RFC 5040 section 7.2)
 *
 * Spins until the accesses of other CPUs end, each with its burst. The consumer may invalidate
 * an STag that is not valid, through any queue pair of the protection domain. The peer may
 * invalidate only a valid one, of a region that was registered by a REG_MR of this connection.
 *
 * Context: process or softirq, with the queue pair's data path.
 * Return: 0; -EINVAL if there is no such STag; -EPERM if it belongs to another PD; -EACCES if
 * it cannot be invalidated.
 */
int rnic_mr_invalidate(struct rnic_mem *mem, u32 stag, bool remote)
{
	struct rnic_mr *mr;
	int ret = -EINVAL;

	rnic_mr_put(mem);
	/* RCU keeps the struct. */
	local_bh_disable();
	mr = stag ? xa_load(&mem->regions->all, stag >> 8) : NULL;
	if (mr)
		ret = invalidate_region(mr, mem, stag, remote);
	local_bh_enable();
	return ret;
}
