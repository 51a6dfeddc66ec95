// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Verbs with a response to user space: check the request, create the object, and write the
 * response of the user ABI <rdma/siw-abi.h>. Contexts and protection domains exist only here.
 */
#include <rdma/ib_verbs.h>
#include <rdma/siw-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "core/dev.h"
#include "mem/mr.h"
#include "mem/sgl.h"
#include "qp/cq.h"
#include "qp/qp.h"
#include "qp/srq.h"
#include "ring/ring.h"
#include "verbs.h"
#include "wire/startup.h"

/* Find the user context of a verb, NULL for a kernel consumer. */
static struct ib_ucontext *find_uctx(struct ib_udata *udata)
{
	struct rnic_ucontext *uctx;

	uctx = rdma_udata_to_drv_context(udata, struct rnic_ucontext, ibuc);
	return uctx ? &uctx->ibuc : NULL;
}

static int send_response(struct ib_udata *udata, void *resp, size_t size)
{
	if (udata->outlen < size)
		return -EINVAL;
	return ib_copy_to_udata(udata, resp, size);
}

/*
 * Programs look a device up by these numbers. The vendor is the letters "mpa", which are no OUI of
 * IEEE's; the part is this driver; its revision is the newest MPA revision (RFC 6581).
 */
#define VENDOR_ID	0x6d7061
#define VENDOR_PART_ID	1
#define HW_VER		MPA_REV_MAX

/* The version of the module, as rdma-core's provider decodes it */
static u64 encode_version(void)
{
	u32 major = 0, minor = 0, patch = 0;

	if (sscanf(THIS_MODULE->version, "%u.%u.%u", &major, &minor, &patch) < 2)
		return 0;
	return (u64)major << 32 | minor << 16 | patch;
}

/**
 * rnic_get_fw_str() - ib_device_ops.get_dev_fw_str: the version of the module
 * @ibdev:	the device
 * @str:	filled; IB_FW_VERSION_NAME_MAX bytes
 *
 * Context: any.
 */
void rnic_get_fw_str(struct ib_device *ibdev, char *str)
{
	u64 version = encode_version();

	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.%u.%u", (u32)(version >> 32),
		 (u32)version >> 16, (u32)version & 0xffff);
}

/**
 * rnic_query_device() - ib_device_ops.query_device
 * @ibdev:	the device
 * @attr:	filled; zeroed by ib_core
 * @udata:	user request and response, nothing of ours
 *
 * Return: 0 or -EINVAL.
 */
int rnic_query_device(struct ib_device *ibdev, struct ib_device_attr *attr, struct ib_udata *udata)
{
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;
	attr->vendor_id = VENDOR_ID;
	attr->vendor_part_id = VENDOR_PART_ID;
	attr->hw_ver = HW_VER;
	attr->fw_ver = encode_version();
	attr->sys_image_guid = ibdev->node_guid;
	/* What ib_umem_get() pins; each page is a block at most. */
	attr->max_mr_size = (u64)U32_MAX << PAGE_SHIFT;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = RNIC_MAX_QP;
	attr->max_qp_wr = RNIC_MAX_QP_WR;
	attr->max_send_sge = RNIC_MAX_SGE;
	attr->max_recv_sge = RNIC_MAX_SGE;
	attr->max_sge_rd = 1;
	attr->max_sgl_rd = 1;
	attr->max_cq = RNIC_MAX_CQ;
	attr->max_cqe = RNIC_MAX_CQE;
	attr->max_mr = RNIC_MAX_MR;
	attr->max_pd = RNIC_MAX_PD;
	attr->max_qp_rd_atom = RNIC_MAX_RD_ATOM;
	attr->max_qp_init_rd_atom = RNIC_MAX_RD_ATOM;
	attr->max_res_rd_atom = RNIC_MAX_RD_ATOM * RNIC_MAX_QP;
	attr->atomic_cap = IB_ATOMIC_NONE;
	attr->max_srq = RNIC_MAX_SRQ;
	attr->max_srq_wr = RNIC_MAX_QP_WR;
	attr->max_srq_sge = RNIC_MAX_SGE;
	attr->max_fast_reg_page_list_len = RNIC_MAX_FASTREG_PAGES;
	attr->max_pkeys = 1;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG;
	/*
	 * Only kernel consumers, which read ib_core's own copy, get fast registration and
	 * invalidation, because the user's provider has neither and gets Send with
	 * Invalidate wrong.
	 */
	if (attr == &ibdev->attrs)
		attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS;
	return 0;
}

/**
 * rnic_alloc_ucontext() - ib_device_ops.alloc_ucontext
 * @uctx:	the context, allocated by ib_core
 * @udata:	its response
 *
 * Return: 0 or -errno.
 */
int rnic_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata)
{
	struct rnic_dev *dev = rnic_dev(uctx->device);
	struct siw_uresp_alloc_ctx resp = { .dev_id = dev->ifindex };
	struct rnic_share *share = rnic_share_get(dev);
	int ret = -ENOMEM;

	if (!share)
		return ret;
	container_of(uctx, struct rnic_ucontext, ibuc)->share = share;
	/*
	 * ib_uverbs (6.1 to 7.3) leaks the task whose context is refused. A user can have that
	 * without us, by asking for a second context of the same file.
	 */
	if (rnic_dev_charge(dev, RNIC_OBJ_UCONTEXT, share)) {
		ret = send_response(udata, &resp, sizeof(resp));
		if (!ret)
			return 0;
		rnic_dev_uncharge(dev, RNIC_OBJ_UCONTEXT, share);
	}
	rnic_share_put(dev, share);
	return ret;
}

/* ib_device_ops.dealloc_ucontext */
void rnic_dealloc_ucontext(struct ib_ucontext *uctx)
{
	struct rnic_dev *dev = rnic_dev(uctx->device);
	struct rnic_share *share = rnic_uctx_share(uctx);

	rnic_dev_uncharge(dev, RNIC_OBJ_UCONTEXT, share);
	rnic_share_put(dev, share);
}

/*
 * ib_device_ops.disassociate_ucontext: the device is removed before its user exits. Does
 * nothing, because rings are ordinary memory that stays mapped until user space unmaps it.
 */
void rnic_disassociate_ucontext(struct ib_ucontext *uctx)
{
}

/* ib_device_ops.alloc_pd */
int rnic_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	struct rnic_share *share = rnic_uctx_share(find_uctx(udata));

	container_of(pd, struct rnic_pd, ibpd)->share = share;
	return rnic_dev_charge(rnic_dev(pd->device), RNIC_OBJ_PD, share) ? 0 : -ENOMEM;
}

/* ib_device_ops.dealloc_pd */
int rnic_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	rnic_dev_uncharge(rnic_dev(pd->device), RNIC_OBJ_PD, rnic_pd_share(pd));
	return 0;
}

static int respond_cq(struct ib_udata *udata, const struct rnic_cq *cq)
{
	struct siw_uresp_create_cq resp = {
		.num_cqe = cq->ring.size,
		.cq_key = rnic_rmem_key(&cq->ring.mem),
	};

	return send_response(udata, &resp, sizeof(resp));
}

/**
 * rnic_create_cq() - ib_device_ops.create_cq
 * @ibcq:	the CQ, zeroed by ib_core
 * @attr:	attributes wanted; the completion vector is ignored
 * @maker:	the user, NULL for kernel consumers
 *
 * Return: 0 or -errno.
 */
int rnic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct compat_cq_maker *maker)
{
	struct ib_udata *udata = compat_cq_udata(maker);
	int ret;

	ret = rnic_cq_create(ibcq, attr, find_uctx(udata));
	if (ret || !udata)
		return ret;
	ret = respond_cq(udata, rnic_cq(ibcq));
	if (ret)
		rnic_cq_destroy(ibcq, udata);
	return ret;
}

static int respond_srq(struct ib_udata *udata, const struct rnic_srq *srq)
{
	struct siw_uresp_create_srq resp = {
		.num_rqe = srq->rq.size,
		.srq_key = rnic_rmem_key(&srq->rq.mem),
	};

	return send_response(udata, &resp, sizeof(resp));
}

/**
 * rnic_create_srq() - ib_device_ops.create_srq
 * @ibsrq:	the SRQ, zeroed by ib_core
 * @init:	attributes wanted; set to those granted
 * @udata:	user request and response, NULL for kernel consumers
 *
 * Return: 0 or -errno.
 */
int rnic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	int ret;

	ret = rnic_srq_create(ibsrq, init, find_uctx(udata));
	if (ret || !udata)
		return ret;
	ret = respond_srq(udata, rnic_srq(ibsrq));
	if (ret)
		rnic_srq_destroy(ibsrq, udata);
	return ret;
}

/*
 * A queue pair with a shared receive queue has no receive ring. Return key 0 for it, because the
 * provider refuses SIW_INVAL_UOBJ_KEY even for a ring that it does not map.
 */
static int respond_qp(struct ib_udata *udata, const struct rnic_qp *qp)
{
	struct siw_uresp_create_qp resp = {
		.qp_id = qp->ibqp.qp_num,
		.num_sqe = qp->sq.size,
		.sq_key = rnic_rmem_key(&qp->sq.mem),
	};

	if (qp->rq.ring) {
		resp.num_rqe = qp->rq.size;
		resp.rq_key = rnic_rmem_key(&qp->rq.mem);
	}
	return send_response(udata, &resp, sizeof(resp));
}

/**
 * rnic_create_qp() - ib_device_ops.create_qp
 * @ibqp:	zeroed, allocated by ib_core
 * @attr:	attributes wanted; @attr->cap is set to those granted
 * @udata:	the user's response buffer, or NULL
 *
 * Context: process.
 * Return: 0 or -errno.
 */
int rnic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	int ret;

	ret = rnic_qp_create(ibqp, attr, find_uctx(udata));
	if (ret)
		return ret;
	if (udata)
		ret = respond_qp(udata, rnic_qp(ibqp));
	if (ret)
		rnic_qp_abandon(ibqp);
	else
		rnic_qp_publish(ibqp);
	return ret;
}

/**
 * rnic_reg_user_mr() - ib_device_ops.reg_user_mr
 * @pd:		protection domain
 * @start:	user address
 * @len:	bytes
 * @iova:	address by which work requests and peers name @start
 * @access:	IB_ACCESS_* rights to grant
 * @udata:	user request and response; NULL from ib_reg_user_mr()
 *
 * Ignores the key in the request, because no provider sets one.
 *
 * Return: the region or an ERR_PTR().
 */
struct ib_mr *rnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova, int access,
			       struct ib_udata *udata)
{
	struct ib_mr *ibmr = rnic_mr_reg_user(pd, start, len, iova, access);
	struct siw_uresp_reg_mr resp = {};
	int ret;

	if (IS_ERR(ibmr) || !udata)
		return ibmr;
	resp.stag = ibmr->lkey;
	ret = send_response(udata, &resp, sizeof(resp));
	if (!ret)
		return ibmr;
	rnic_mr_dereg(ibmr, udata);
	return ERR_PTR(ret);
}
