from plan.texts import COLLECTIVES

from luke_jax.plan.chips import CHIPS
from luke_jax.plan.hlo import execution, parse
from luke_jax.plan.traffic import Traffic, only_moves, traffic

ROW = 128
F32, BF16 = 4 * ROW, 2 * ROW


def test_bytes_of_every_kind():
  program = parse(COLLECTIVES)
  rows = {(x.kind, x.dtype): (x.count, x.bytes) for x in traffic(program, execution(program))}
  assert rows == {
    # Each of three trips sends its piece to seven others; the two parts of the chain are one.
    ("all-gather", "bf16"): (3, 3 * 7 * 64 * BF16),
    # In pairs, and among all eight.
    ("all-reduce", "f32"): (2, 2 * 1 / 2 * 64 * F32 + 2 * 7 / 8 * 64 * F32),
    ("all-reduce", "bf16"): (1, 2 * 1 / 2 * 64 * BF16),
    # In the loop among four, padded to 1,024 rows and written as an all-reduce; and among eight.
    ("reduce-scatter", "f32"): (4, 3 * 3 / 4 * 1024 * F32 + 7 / 8 * 64 * F32),
    ("collective-permute", "f32"): (1, 64 * F32),
    ("all-to-all", "f32"): (1, 3 / 4 * 64 * F32),
  }


def test_most_bytes_come_first():
  program = parse(COLLECTIVES)
  rows = traffic(program, execution(program))
  assert [x.bytes for x in rows] == sorted((x.bytes for x in rows), reverse=True)
  assert rows[0].kind == "reduce-scatter"


def scatters(text):
  program = parse(text)
  rows = traffic(program, execution(program))
  return sum(x.count for x in rows if x.kind == "reduce-scatter")


def test_a_reduce_scatter_of_several_arrays():
  sliced = "  ROOT %slice = f32[256,128]{1,0:T(8,128)} dynamic-slice(%all-reduce.1, %none, %none)"
  part = "  %part = f32[1024,128]{1,0:T(8,128)} get-tuple-element(%all-reduce.1), index=0\n"
  parts = part + sliced.replace("ROOT ", "").replace("all-reduce.1", "part")
  text = COLLECTIVES.replace(sliced, parts).replace(
    "dynamic_slice_sizes={256,128}",
    "dynamic_slice_sizes={256,128}\n  ROOT %both = () tuple(%slice)",
  )
  assert text.count("ROOT %both") == 1
  assert scatters(text) == scatters(COLLECTIVES) == 4
  assert scatters(text.replace("tuple(%slice)", "tuple(%slice, %part)")) == 1


def test_sent_inside_what_computes():
  """A third part of the chain is in a fusion that multiplies."""

  def hidden(text):
    program = parse(text)
    return {(x.kind, x.dtype): x.hidden for x in traffic(program, execution(program)) if x.hidden}

  assert not hidden(COLLECTIVES)
  start = COLLECTIVES.index("  %async-collective-done = ")
  computing = "  %carries = bf16[512,128]{1,0} fusion(%x), kind=kOutput, calls=%chain_done\n"
  text = COLLECTIVES[:start] + computing + COLLECTIVES[start:]
  assert hidden(text) == {("all-gather", "bf16"): 3 * 7 * 64 * BF16}


def test_time_on_the_links():
  assert Traffic("all-gather", "bf16", 1, 1e9).seconds(CHIPS["v5e"]) == 1 / 200


def test_fusions_that_only_move():
  program = parse(COLLECTIVES)
  body = program.computations["body"].instructions
  moving = {name for name, instruction in body.items() if only_moves(program, instruction)}
  assert moving == {"scattered", "async-collective-start", "async-collective-done"}


def test_axes_split_in_two():
  text = COLLECTIVES.replace(
    "mesh['axis_0'=2,'axis_1'=4] {'axis_0','axis_1'}", "mesh['axis_0'=8] {'axis_0':(1)2}"
  )
  program = parse(text)
  rows = {(x.kind, x.dtype): x.bytes for x in traffic(program, execution(program))}
  assert rows["reduce-scatter", "f32"] == 3 * 3 / 4 * 1024 * F32 + 1 / 2 * 64 * F32


def test_devices_in_another_order():
  text = COLLECTIVES.replace(
    "mesh['axis_0'=2,'axis_1'=4] {'axis_0','axis_1'}",
    "mesh['axis_0'=2,'axis_1'=4], device_ids=([4,2]T(1,0)) {'axis_1'}",
  )
  program = parse(text)
  rows = {(x.kind, x.dtype): x.bytes for x in traffic(program, execution(program))}
  assert rows["reduce-scatter", "f32"] == 3 * 3 / 4 * 1024 * F32 + 3 / 4 * 64 * F32
