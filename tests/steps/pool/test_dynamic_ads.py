"""Dynamic slots by column have the ads that they have one by one."""

from copy import deepcopy

from hypothesis import given, settings
from hypothesis import strategies as st

from fairq.columns.ads import AdTable
from fairq.common.records import DynamicSlot
from fairq.engine.negotiation.pieces import assigned_gpus
from fairq.steps.pool.dynamic_slots import by_parent, inherited_by, laid_out, rest_of

parent = st.fixed_dictionaries(
    {"Name": st.sampled_from(["slot1@a", "slot1@b"]), "Cpus": st.integers(1, 9), "PartitionableSlot": st.just(True)},
    optional={
        "SlotID": st.integers(1, 2),
        "Memory": st.sampled_from([4096, 1024.5, "/Expr(8 * 1024)/"]),
        "Arch": st.sampled_from(["X86_64", "ARM"]),
        "ParentSlotId": st.just(7),
        "NumDynamicSlots": st.just(3),
        "GPUs": st.just(2),
        "AssignedGPUs": st.just("GPU-1, GPU-2"),
        "AvailableGPUs": st.just(["GPU-1", "GPU-2"]),
    },
)
child = st.fixed_dictionaries(
    {"Name": st.sampled_from(["slot1_1@a", "slot1_2@a"]), "Cpus": st.integers(0, 2)},
    optional={
        "AssignedGPUs": st.sampled_from(["GPU-1", "GPU-2"]),
        "arch": st.just("ARM"),
        "ParentSlotId": st.just(3),
        "Rank": st.just(1.0),
    },
)
carved = st.dictionaries(st.sampled_from(["Cpus", "memory", "Memory", "GPUs"]), st.sampled_from([0.5, 1, 2]))
families = st.lists(
    st.tuples(parent, st.lists(st.tuples(child, carved, st.booleans()), max_size=4)), min_size=1, max_size=4
)


def one_by_one(ids, ads, dynamic):
    """Change the ads of families, each by itself."""
    places = {number: place for place, number in enumerate(ids)}
    for parent_id, family in by_parent(dynamic).items():
        parent_ad = ads[places[parent_id]]
        children = [places[child.slot_id] for child in family]
        inherited = inherited_by(parent_ad, {name.lower() for place in children for name in ads[place]})
        gpus = [name for place in children for name in assigned_gpus(ads[place])]
        ads[places[parent_id]] = rest_of(parent_ad, family, gpus)
        for place in children:
            ads[place] = {**inherited, **ads[place]}


@settings(max_examples=100, deadline=None)
@given(families=families, lone=st.lists(child, max_size=2))
def test_ads_by_column_are_those_of_single_slots(families, lone):
    """Whatever its family advertises, a dynamic slot inherits the same, in the same order."""
    ads, apart, dynamic = [dict(ad) for ad in lone], [], []
    for parent_ad, children in families:
        place = len(ads)
        ads.append(parent_ad)
        if children:
            apart.append(place)
        for ad, amounts, is_apart in children:
            if is_apart:
                apart.append(len(ads))
            dynamic.append(DynamicSlot(len(ads) + 10, place + 10, amounts))
            ads.append(ad)
    ids = [place + 10 for place in range(len(ads))]
    table, changed = AdTable(), {place: deepcopy(ads[place]) for place in apart}
    rest = [place for place in range(len(ads)) if place not in changed]
    table.put(rest, [deepcopy(ads[place]) for place in rest])

    found = laid_out(ids, table, changed, dynamic)
    found.put(list(changed), list(changed.values()))
    expected, every = deepcopy(ads), deepcopy(ads)
    one_by_one(ids, expected, dynamic)
    separate = dict(enumerate(every))
    laid_out(ids, AdTable(), separate, dynamic)
    assert [list(ad.items()) for ad in found] == [list(ad.items()) for ad in expected]
    assert [list(ad.items()) for ad in separate.values()] == [list(ad.items()) for ad in expected]
