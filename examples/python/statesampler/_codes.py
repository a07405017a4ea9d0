"""The codes of statesampler.h and of the headers of extras that are told apart
here, by their names there."""

ERANGE = -200                   # a kind, of which each rule has a code
ERANGE_BASE, ERANGE_FAR, ERANGE_INDEX = -201, -203, -204
ERANGE_SERVED, ERANGE_OFF = -206, -209
ECORRUPT_MAGIC = -302
EMISMATCH_DATASET = -511
EENV_UNSET, EENV_NUMBER, EENV_RANK = -601, -602, -603

PACK_ELENGTH, SCHEDULE_ETOKENS = -1101, -1306
HISTORY_EFULL, HISTORY_EORDER, HISTORY_EOTHER = -1401, -1402, -1403


def may_come(code):
    """Whether a sample that is not in the present stage of a schedule may be in
    a later one."""
    return code in (ERANGE_OFF, ERANGE_FAR)


def kind(code):
    """STATESAMPLER_KIND."""
    return -(-code // 100 * 100)
