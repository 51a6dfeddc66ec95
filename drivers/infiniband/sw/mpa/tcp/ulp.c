// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The upper layer protocol "mpa" of TCP: a program lends the driver a connection that it uses
 * already.
 *
 * The struct socket of such a program has functions of ours in place of the kernel's. They call
 * those, unless the driver has the stream (rnic_ulp.busy). Then the program can neither read nor
 * write.
 *
 * Lifetime. struct rnic_ulp is freed when the program closes its last descriptor (drop_ulp()), also
 * if the driver keeps the connection. Each struct socket with our functions has a reference to the
 * module, and TCP has one for each socket with the protocol.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <compat/sockaddr.h>
#include <compat/tcp.h>

#include <rdma/rdma_mpa.h>
#include "tcp/ulp.h"

static const struct rnic_ulp_user *user;

static struct rnic_ulp *get_ulp(const struct socket *sock)
{
	/* The caller found our functions. Pairs with the release in init_ulp(). */
	smp_rmb();
	return rcu_dereference_raw(inet_csk(sock->sk)->icsk_ulp_data);
}

/* Functions of the program's struct socket */

static int refuse_connect(struct socket *sock, struct compat_sockaddr *addr, int len, int flags)
{
	struct rnic_ulp *u = get_ulp(sock);

	/* It would disconnect. */
	return READ_ONCE(u->busy) ? -EBUSY : u->ops->connect(sock, addr, len, flags);
}

static int refuse_shutdown(struct socket *sock, int how)
{
	struct rnic_ulp *u = get_ulp(sock);

	return READ_ONCE(u->busy) ? -EBUSY : u->ops->shutdown(sock, how);
}

static int refuse_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct rnic_ulp *u = get_ulp(sock);

	return READ_ONCE(u->busy) ? -EBUSY : u->ops->sendmsg(sock, msg, len);
}

static int refuse_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	struct rnic_ulp *u = get_ulp(sock);

	/* What nobody reads from the error queue would count against the receive buffer. */
	return READ_ONCE(u->busy) && !(flags & MSG_ERRQUEUE) ? -EBUSY :
			u->ops->recvmsg(sock, msg, len, flags);
}

static ssize_t refuse_splice(struct socket *sock, loff_t *pos, struct pipe_inode_info *pipe,
			     size_t len, unsigned int flags)
{
	struct rnic_ulp *u = get_ulp(sock);

	return READ_ONCE(u->busy) ? -EBUSY : u->ops->splice_read(sock, pos, pipe, len, flags);
}

#ifdef COMPAT_HAS_tcp_sendpage_locked
static ssize_t refuse_sendpage(struct socket *sock, struct page *page, int offset, size_t size,
			       int flags)
{
	struct rnic_ulp *u = get_ulp(sock);

	return READ_ONCE(u->busy) ? -EBUSY : u->ops->sendpage(sock, page, offset, size, flags);
}
#endif

static int set_option(struct socket *sock, int level, int option, sockptr_t val, unsigned int len)
{
	struct rnic_ulp *u = get_ulp(sock);

	if (level == SOL_MPA)
		return user->set(u, option, val, len);
	/* In repair mode, what the driver sends goes nowhere. */
	if (level == SOL_TCP && option == TCP_REPAIR && READ_ONCE(u->busy))
		return -EBUSY;
	return u->ops->setsockopt(sock, level, option, val, len);
}

static int read_option(struct socket *sock, int level, int option, char __user *val,
		       int __user *len)
{
	struct rnic_ulp *u = get_ulp(sock);

	if (level == SOL_MPA)
		return user->get(u, option, val, len);
	/* This one receives. */
	if (level == SOL_TCP && option == TCP_ZEROCOPY_RECEIVE && READ_ONCE(u->busy))
		return -EBUSY;
	return u->ops->getsockopt(sock, level, option, val, len);
}

static __poll_t poll_socket(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	struct rnic_ulp *u = get_ulp(sock);
	__poll_t seen;

	/* The kernel's function waits. */
	seen = u->ops->poll(file, sock, wait);
	return READ_ONCE(u->busy) ? user->poll(u) : seen | user->poll(u);
}

/*
 * The struct proto of an IPv6 socket with the protocol: a copy of TCP's. IPV6_ADDRFORM replaces our
 * functions, and TCP refuses it, under the socket lock, unless the socket has TCP's own struct
 * proto. Filled in when the first such socket gets the protocol.
 */
static DEFINE_SPINLOCK(prot_lock);
static struct proto prot_v6;
static struct proto *base_v6;

/* The caller holds sk_callback_lock. Return: -EOPNOTSUPP if it is not that of the first socket. */
static int replace_prot(struct sock *sk)
{
	struct proto *prot = sk->sk_prot;

	if (sk->sk_family != AF_INET6)
		return 0;
	spin_lock(&prot_lock);
	if (!base_v6) {
		base_v6 = prot;
		prot_v6 = *prot;
	}
	spin_unlock(&prot_lock);
	if (prot != base_v6)
		return -EOPNOTSUPP;
	WRITE_ONCE(sk->sk_prot, &prot_v6);
	return 0;
}

static void restore_prot(struct sock *sk)
{
	if (sk->sk_prot == &prot_v6)
		WRITE_ONCE(sk->sk_prot, base_v6);
}

static void release_ulp(struct sock *sk)
{
	struct rnic_ulp *u = rcu_dereference_raw(inet_csk(sk)->icsk_ulp_data);

	user->release(u);
	restore_prot(sk);
	rcu_assign_pointer(inet_csk(sk)->icsk_ulp_data, NULL);
	kfree(u);
}

static struct tcp_ulp_ops mpa_ulp;

/*
 * As TCP does when it destroys the socket. That may be minutes after the program has closed it,
 * and the module could not be unloaded meanwhile.
 */
static void drop_ulp(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	lock_sock(sk);
	if (icsk->icsk_ulp_ops == &mpa_ulp) {
		release_ulp(sk);
		icsk->icsk_ulp_ops = NULL;
		module_put(THIS_MODULE);
	}
	release_sock(sk);
}

/*
 * The program's last descriptor is closed. The driver may have closed the connection by the time
 * that it is asked to keep it. The caller drops the reference of our functions.
 *
 * accept(2) gives a new struct socket the functions of the listening one, and releases it without a
 * struct sock when TCP refuses, as it does on a connection.
 */
static int release_socket(struct socket *sock)
{
	const struct proto_ops *ops;
	struct sock *sk = sock->sk;
	struct rnic_ulp *u;
	int ret = 0;

	if (!sk)
		return 0;
	u = get_ulp(sock);
	ops = u->ops;
	sock_hold(sk);
	if (user->close(u)) {
		sock->sk = NULL;
		drop_ulp(sk);
	} else {
		drop_ulp(sk);
		ret = ops->release(sock);
	}
	sock_put(sk);
	module_put(ops->owner);
	return ret;
}

/*
 * For IPv4 and IPv6; each is filled in when the first such socket gets the protocol. Return: NULL
 * if the socket's functions are not those of the first.
 */
static DEFINE_MUTEX(functions_lock);
static struct proto_ops functions[2];
static const struct proto_ops *bases[2];

static const struct proto_ops *get_functions(const struct proto_ops *base)
{
	bool six = base->family == PF_INET6;
	struct proto_ops *ops = &functions[six];

	mutex_lock(&functions_lock);
	if (!bases[six]) {
		bases[six] = base;
		*ops = *base;
		ops->owner = THIS_MODULE;
		ops->connect = refuse_connect;
		ops->shutdown = refuse_shutdown;
		ops->sendmsg = refuse_sendmsg;
		ops->recvmsg = refuse_recvmsg;
		ops->splice_read = refuse_splice;
#ifdef COMPAT_HAS_tcp_sendpage_locked
		ops->sendpage = refuse_sendpage;
#endif
		ops->setsockopt = set_option;
		ops->getsockopt = read_option;
		ops->poll = poll_socket;
		ops->release = release_socket;
	}
	if (bases[six] != base)
		ops = NULL;
	mutex_unlock(&functions_lock);
	return ops;
}

/* TCP's functions of the protocol */

/*
 * A sockmap replaces sk_prot, too, and BPF puts no socket with a protocol into one. It looks at
 * icsk_ulp_ops under sk_callback_lock and not under the socket lock, and TCP sets that only after
 * our init.
 */
static int exclude_sockmap(struct sock *sk)
{
	int ret = -EBUSY;

	write_lock_bh(&sk->sk_callback_lock);
	if (!rnic_sock_in_sockmap(sk))
		ret = replace_prot(sk);
	if (!ret)
		inet_csk(sk)->icsk_ulp_ops = &mpa_ulp;
	write_unlock_bh(&sk->sk_callback_lock);
	return ret;
}

static int init_ulp(struct sock *sk)
{
	struct socket *sock = sk->sk_socket;
	const struct proto_ops *ops;
	struct rnic_ulp *u;
	int ret;

	if (sk->sk_state != TCP_ESTABLISHED || !sock)
		return -ENOTCONN;
	ops = get_functions(READ_ONCE(sock->ops));
	if (!ops)
		return -EOPNOTSUPP;
	u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);
	if (!u)
		return -ENOMEM;
	u->sk = sk;
	u->ops = READ_ONCE(sock->ops);
	ret = user->init(u);
	if (ret)
		goto free_ulp;
	ret = exclude_sockmap(sk);
	if (ret)
		goto release_user;
	rcu_assign_pointer(inet_csk(sk)->icsk_ulp_data, u);
	__module_get(THIS_MODULE);
	/* Store the pointer before our functions, which read it. Pairs with get_ulp(). */
	smp_store_release(&sock->ops, ops);
	return 0;

release_user:
	user->release(u);
free_ulp:
	kfree(u);
	return ret;
}

static struct tcp_ulp_ops mpa_ulp = {
	.name		= MPA_ULP,
	.owner		= THIS_MODULE,
	.init		= init_ulp,
	.release	= release_ulp,
};

/**
 * rnic_ulp_register() - offer the protocol to programs
 * @above:	functions of the layer above
 *
 * Context: process.
 * Return: 0 or -errno.
 */
int rnic_ulp_register(const struct rnic_ulp_user *above)
{
	user = above;
	return tcp_register_ulp(&mpa_ulp);
}

/**
 * rnic_ulp_unregister() - undo rnic_ulp_register(); no socket has the protocol
 *
 * Context: process.
 */
void rnic_ulp_unregister(void)
{
	tcp_unregister_ulp(&mpa_ulp);
}

/**
 * rnic_ulp_find() - find the protocol's part of a kernel consumer's connection
 * @sock:	the connection
 *
 * Context: process.
 * Return: it, or NULL if the socket does not have the protocol.
 */
struct rnic_ulp *rnic_ulp_find(struct socket *sock)
{
	return READ_ONCE(sock->ops)->release == release_socket ? get_ulp(sock) : NULL;
}

/**
 * rnic_ulp_make() - give a kernel consumer's connection the protocol, unless it has it
 * @sock:	the connection
 *
 * Context: process, socket not locked.
 * Return: 0; -EEXIST if the socket has another protocol; -ENOTCONN; or another -errno.
 */
int rnic_ulp_make(struct socket *sock)
{
	static char name[] = MPA_ULP;

	if (rnic_ulp_find(sock))
		return 0;
	return READ_ONCE(sock->ops)->setsockopt(sock, SOL_TCP, TCP_ULP, KERNEL_SOCKPTR(name),
						strlen(name));
}

/**
 * rnic_ulp_take() - take the stream from the program
 * @u:	the program's connection
 *
 * Context: process, socket not locked.
 * Return: 0; -EBUSY if the driver, or BPF, has it, or it is in repair mode; -ENOTCONN if one side
 * has closed; -ENOTEMPTY if the program has not read all bytes.
 */
int rnic_ulp_take(struct rnic_ulp *u)
{
	struct sock *sk = u->sk;
	int ret = 0;

	lock_sock(sk);
	if (u->busy || sk->sk_user_data || tcp_sk(sk)->repair)
		ret = -EBUSY;
	else if (sk->sk_state != TCP_ESTABLISHED || sk->sk_shutdown)
		ret = -ENOTCONN;
	else if (tcp_sk(sk)->rcv_nxt != tcp_sk(sk)->copied_seq)
		ret = -ENOTEMPTY;
	else
		WRITE_ONCE(u->busy, true);
	release_sock(sk);
	return ret;
}

/**
 * rnic_ulp_give_back() - give the stream back to the program
 * @u:	the program's connection
 *
 * Context: process, socket not locked.
 */
void rnic_ulp_give_back(struct rnic_ulp *u)
{
	lock_sock(u->sk);
	WRITE_ONCE(u->busy, false);
	release_sock(u->sk);
}

/**
 * rnic_ulp_wake() - wake a program that polls
 * @u:	the program's connection
 *
 * Context: any.
 */
void rnic_ulp_wake(struct rnic_ulp *u)
{
	struct socket_wq *wq;

	rcu_read_lock();
	wq = rcu_dereference(u->sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_all(&wq->wait);
	rcu_read_unlock();
}

/**
 * rnic_ulp_send() - send bytes as the program would, but without waiting
 * @u:		the program's connection, taken; rnic_sock_borrow() found room in its send buffer
 * @buf:	the bytes
 * @len:	number of bytes
 *
 * The send buffer may grow by all of them, because a peer that does not read must not be able to
 * stop a caller who has locks, and a part would be of no use.
 *
 * Context: process, socket not locked.
 * Return: number of bytes that TCP took, or -errno.
 */
int rnic_ulp_send(struct rnic_ulp *u, const void *buf, u32 len)
{
	struct kvec vec = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL | MSG_DONTWAIT };
	struct sock *sk = u->sk;
	u32 lowat;
	int ret, size;

	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, len);
	lock_sock(sk);
	size = sk->sk_sndbuf;
	lowat = tcp_sk(sk)->notsent_lowat;
	/* TCP counts the memory of the skbs. */
	WRITE_ONCE(sk->sk_sndbuf, max_t(int, size, sk->sk_wmem_queued + 4 * len));
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, UINT_MAX);
	ret = u->ops->sendmsg_locked(sk, &msg, len);
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, lowat);
	WRITE_ONCE(sk->sk_sndbuf, size);
	release_sock(sk);
	return ret;
}
