// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The table of operations, the small objects (contexts, protection domains),
 * and the responses of the user ABI.
 */
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/siw-abi.h>
#include <rdma/uverbs_ioctl.h>
#include <compat/verbs.h>

#include "cm.h"
#include "cq.h"
#include "dev.h"
#include "mr.h"
#include "qp.h"
#include "ring.h"
#include "srq.h"
#include "verbs.h"

/**
 * struct rnic_ucontext - a user's context
 * @ibuc:	what ib_core sees; allocated and freed by it
 */
struct rnic_ucontext {
	struct ib_ucontext ibuc;
};

/**
 * struct rnic_pd - a protection domain: only an identity
 * @ibpd:	what ib_core sees; allocated and freed by it
 */
struct rnic_pd {
	struct ib_pd ibpd;
};

/**
 * rnic_udata_uctx() - the user context of a call
 * @udata:	as ib_core gave it to an operation
 *
 * Return: the context, NULL when the caller is in the kernel.
 */
struct ib_ucontext *rnic_udata_uctx(struct ib_udata *udata)
{
	struct rnic_ucontext *uctx;

	uctx = rdma_udata_to_drv_context(udata, struct rnic_ucontext, ibuc);
	return uctx ? &uctx->ibuc : NULL;
}

static int respond(struct ib_udata *udata, void *resp, size_t size)
{
	if (udata->outlen < size)
		return -EINVAL;
	return ib_copy_to_udata(udata, resp, size);
}

/**
 * rnic_verbs_qp_uresp() - tell user space about a new QP
 * @udata:	the call
 * @qpn:	QP number
 * @sq:		its send queue
 * @rq:		its receive queue; NULL or not initialised when it uses an SRQ
 *
 * The provider refuses SIW_INVAL_UOBJ_KEY for a receive queue it will not map
 * anyway; 0 will do.
 *
 * Return: 0, -EINVAL or -EFAULT.
 */
int rnic_verbs_qp_uresp(struct ib_udata *udata, u32 qpn,
			const struct rnic_sq *sq, const struct rnic_rq *rq)
{
	struct siw_uresp_create_qp resp = {
		.qp_id = qpn,
		.num_sqe = sq->size,
		.sq_key = rnic_rmem_key(&sq->mem),
	};

	if (rq && rq->ring) {
		resp.num_rqe = rq->size;
		resp.rq_key = rnic_rmem_key(&rq->mem);
	}
	return respond(udata, &resp, sizeof(resp));
}

/**
 * rnic_verbs_cq_uresp() - tell user space about a new CQ
 * @udata:	the call
 * @cq:		the CQ
 *
 * Return: 0, -EINVAL or -EFAULT.
 */
int rnic_verbs_cq_uresp(struct ib_udata *udata, const struct rnic_cq *cq)
{
	struct siw_uresp_create_cq resp = {
		.num_cqe = cq->ring.size,
		.cq_key = rnic_rmem_key(&cq->ring.mem),
	};

	return respond(udata, &resp, sizeof(resp));
}

/**
 * rnic_verbs_srq_uresp() - tell user space about a new SRQ
 * @udata:	the call
 * @srq:	the SRQ
 *
 * Return: 0, -EINVAL or -EFAULT.
 */
int rnic_verbs_srq_uresp(struct ib_udata *udata, const struct rnic_srq *srq)
{
	struct siw_uresp_create_srq resp = {
		.num_rqe = srq->rq.size,
		.srq_key = rnic_rmem_key(&srq->rq.mem),
	};

	return respond(udata, &resp, sizeof(resp));
}

/**
 * rnic_verbs_mr_uresp() - tell user space about a new memory region
 * @udata:	the call
 * @stag:	its STag
 *
 * The request asks for a key, which is not ours to promise; no provider does.
 *
 * Return: 0, -EINVAL or -EFAULT.
 */
int rnic_verbs_mr_uresp(struct ib_udata *udata, u32 stag)
{
	struct siw_uresp_reg_mr resp = { .stag = stag };

	return respond(udata, &resp, sizeof(resp));
}

static int alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata)
{
	struct rnic_dev *dev = rnic_dev(uctx->device);
	struct siw_uresp_alloc_ctx resp = { .dev_id = dev->ifindex };
	int ret;

	if (!rnic_dev_charge(dev, RNIC_OBJ_UCONTEXT))
		return -ENOMEM;
	ret = respond(udata, &resp, sizeof(resp));
	if (ret)
		rnic_dev_uncharge(dev, RNIC_OBJ_UCONTEXT);
	return ret;
}

static void dealloc_ucontext(struct ib_ucontext *uctx)
{
	rnic_dev_uncharge(rnic_dev(uctx->device), RNIC_OBJ_UCONTEXT);
}

/*
 * The device goes before its user does. Nothing to do: rings are ordinary
 * memory, and those mapped stay mapped until user space unmaps them.
 */
static void disassociate_ucontext(struct ib_ucontext *uctx)
{
}

static int alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return rnic_dev_charge(rnic_dev(pd->device), RNIC_OBJ_PD) ? 0 : -ENOMEM;
}

static int dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	rnic_dev_uncharge(rnic_dev(pd->device), RNIC_OBJ_PD);
	return 0;
}

COMPAT_REG_USER_MR(reg_user_mr, rnic_mr_reg_user)

static const struct ib_device_ops ib_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_SIW,
	.uverbs_abi_ver = SIW_ABI_VERSION,
	.device_group = &rnic_settings_group,

	.query_device = rnic_dev_query,
	.dealloc_driver = rnic_dev_dealloc,
	.query_port = rnic_port_query,
	.query_gid = rnic_port_query_gid,
	.query_pkey = rnic_port_query_pkey,
	.get_port_immutable = rnic_port_immutable,
	.get_netdev = rnic_port_get_netdev,
	.alloc_hw_port_stats = rnic_stats_alloc_port,
	.get_hw_stats = rnic_stats_get,

	.alloc_ucontext = alloc_ucontext,
	.dealloc_ucontext = dealloc_ucontext,
	.disassociate_ucontext = disassociate_ucontext,
	.mmap = rnic_rmem_mmap,
	.mmap_free = rnic_rmem_mmap_free,
	.alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,

	.create_cq = rnic_cq_create,
	.destroy_cq = rnic_cq_destroy,
	.poll_cq = rnic_cq_poll,
	.req_notify_cq = rnic_cq_req_notify,

	.create_srq = rnic_srq_create,
	.modify_srq = rnic_srq_modify,
	.query_srq = rnic_srq_query,
	.destroy_srq = rnic_srq_destroy,
	.post_srq_recv = rnic_srq_post_recv,

	.create_qp = rnic_qp_create,
	.modify_qp = rnic_qp_modify,
	.query_qp = rnic_qp_query,
	.destroy_qp = rnic_qp_destroy,
	.fill_res_qp_entry = rnic_qp_show,
	.post_send = rnic_post_send,
	.post_recv = rnic_post_recv,

	.get_dma_mr = rnic_mr_get_dma,
	.reg_user_mr = reg_user_mr,
	.alloc_mr = rnic_mr_alloc,
	.map_mr_sg = rnic_mr_map_sg,
	.dereg_mr = rnic_mr_dereg,

	.iw_connect = rnic_cm_connect,
	.iw_accept = rnic_cm_accept,
	.iw_reject = rnic_cm_reject,
	.iw_create_listen = rnic_cm_create_listen,
	.iw_destroy_listen = rnic_cm_destroy_listen,
	.iw_add_ref = rnic_qp_add_ref,
	.iw_rem_ref = rnic_qp_rem_ref,
	.iw_get_qp = rnic_qp_find,

	INIT_RDMA_OBJ_SIZE(ib_cq, rnic_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, rnic_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, rnic_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, rnic_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, rnic_ucontext, ibuc),
};

/**
 * rnic_verbs_init() - give a device its operations
 * @ibdev:	the device, not registered yet
 */
void rnic_verbs_init(struct ib_device *ibdev)
{
	ib_set_device_ops(ibdev, &ib_ops);
	/* The provider's doorbell. */
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND);
}
