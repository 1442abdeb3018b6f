"""How a TreeEnsemble joins the weights that its trees give to a target."""

from enum import Enum


class TreeAggregate(Enum):
    """kSum: their sum, in the order of the trees. kMin, kMax: the least or the largest of them."""

    kSum = 0
    kMin = 1
    kMax = 2
