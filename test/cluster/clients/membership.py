"""The cluster calls of the published NetHSM Python package, unmodified: three appliances that are alone become one cluster.

Usage: membership.py join|part ADMIN UNLOCK BACKUP HOST:PORT=PEER_URL...  -- passphrases; any end but 0 is a failure.
"""

import sys
import time

from nethsm import Authentication, NetHSM, NetHSMError, State

TRIES = 120

what, admin, unlock, backup, *places = sys.argv[1:]
nodes = [tuple(place.split("=", 1)) for place in places]
first, others = nodes[0], nodes[1:]


def connect(node, auth=("admin", admin)):
    return NetHSM(node[0], Authentication(*auth), verify_tls=False)


def again(call):
    """A learner that has not caught up, and a node that waits for others, are refused for a while."""
    for _ in range(TRIES):
        try:
            return call()
        except NetHSMError:
            time.sleep(1)
    return call()


def id_of(node):
    return next(member.id for member in connect(first).list_cluster_members() if node[1] in member.urls)


def join():
    alone = connect(first).list_cluster_members()
    assert [member.urls for member in alone] == [[first[1]]] and not alone[0].learner, alone
    for node in others:
        data = connect(first).add_cluster_member([node[1]])
        assert [member.learner for member in data.members if node[1] in member.urls] == [True], data
        try:
            connect(node).join_cluster(data, backup + "?")
            raise AssertionError("joined with a wrong passphrase")
        except NetHSMError as error:
            assert "passphrase" in str(error), error
        connect(node).join_cluster(data, backup)
        assert connect(node).get_state() == State.LOCKED
        again(lambda: connect(first).promote_cluster_member(id_of(node)))
        again(lambda: connect(node).unlock(unlock))
    assert len({member.name for member in connect(first).list_cluster_members()}) == len(nodes)
    for node in nodes:
        members = connect(node).list_cluster_members()
        assert len(members) == len(nodes) and not any(member.learner for member in members), members
        diagnostics = connect(node).get_cluster_diagnostics()
        assert diagnostics.state.running and diagnostics.logs, diagnostics
    connect(first).set_cluster_member_urls(id_of(others[0]), [others[0][1]])
    ca = connect(first).get_cluster_ca_certificate()
    try:
        connect(first).set_cluster_ca_certificate(ca.encode())
        raise AssertionError("the CA of a cluster was changed")
    except NetHSMError:
        pass


def part():
    last = others[-1]
    again(lambda: connect(first).remove_cluster_member(id_of(last)))
    while connect(last).get_state() != State.FAILED:
        time.sleep(0.1)
    while connect(last).get_cluster_diagnostics().state.running:
        time.sleep(0.1)
    assert len(connect(first).list_cluster_members()) == len(nodes) - 1
    connect(last, ("unlock", unlock)).force_new_cluster()
    while connect(last).get_state() != State.OPERATIONAL:  # it opens unattended
        time.sleep(0.1)
    assert len(connect(last).list_cluster_members()) == 1


{"join": join, "part": part}[what]()
