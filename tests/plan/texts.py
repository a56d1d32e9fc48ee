"""Programs written by hand in the form of `compiled.as_text()`."""

# 4 trips of a loop in 3 trips of a loop that starts at 2, and a branch.
LOOPS = """\
HloModule loops, is_scheduled=true, num_partitions=8

%inner_body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[]{:T(128)}, f32[8]{0:T(128)}) parameter(0)
  %i = s32[]{:T(128)} get-tuple-element(%p), index=0
  %x = f32[8]{0:T(128)} get-tuple-element(%p), index=1
  %one = s32[]{:T(128)} constant(1)
  %next = s32[]{:T(128)} add(%i, %one)
  %y = f32[8]{0:T(128)} negate(%x)
  ROOT %t = (s32[]{:T(128)}, f32[8]{0:T(128)}) tuple(%next, %y)
}

%inner_condition (p.1: (s32[], f32[8])) -> pred[] {
  %p.1 = (s32[]{:T(128)}, f32[8]{0:T(128)}) parameter(0)
  %i.1 = s32[]{:T(128)} get-tuple-element(%p.1), index=0
  %limit = s32[]{:T(128)} constant(4)
  ROOT %less = pred[]{:T(512)} compare(%i.1, %limit), direction=LT
}

%outer_body (p.2: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p.2 = (s32[]{:T(128)}, f32[8]{0:T(128)}) parameter(0)
  %i.2 = s32[]{:T(128)} get-tuple-element(%p.2), index=0
  %x.2 = f32[8]{0:T(128)} get-tuple-element(%p.2), index=1
  %zero = s32[]{:T(128)} constant(0)
  %start = (s32[]{:T(128)}, f32[8]{0:T(128)}) tuple(%zero, %x.2)
  %loop = (s32[]{:T(128)}, f32[8]{0:T(128)}) while(%start), condition=%inner_condition, \
body=%inner_body
  %y.2 = f32[8]{0:T(128)} get-tuple-element(%loop), index=1
  %one.2 = s32[]{:T(128)} constant(1)
  %next.2 = s32[]{:T(128)} add(%i.2, %one.2)
  ROOT %t.2 = (s32[]{:T(128)}, f32[8]{0:T(128)}) tuple(%next.2, %y.2)
}

%outer_condition (p.3: (s32[], f32[8])) -> pred[] {
  %p.3 = (s32[]{:T(128)}, f32[8]{0:T(128)}) parameter(0)
  %i.3 = s32[]{:T(128)} get-tuple-element(%p.3), index=0
  %limit.3 = s32[]{:T(128)} constant(5)
  ROOT %less.3 = pred[]{:T(512)} compare(%i.3, %limit.3), direction=LT
}

%known_body (p.4: (f32[8])) -> (f32[8]) {
  %p.4 = (f32[8]{0:T(128)}) parameter(0)
  %x.4 = f32[8]{0:T(128)} get-tuple-element(%p.4), index=0
  %abs = f32[8]{0:T(128)} abs(%x.4)
  ROOT %t.4 = (f32[8]{0:T(128)}) tuple(%abs)
}

%unknown_condition (p.5: (f32[8])) -> pred[] {
  %p.5 = (f32[8]{0:T(128)}) parameter(0)
  ROOT %more = pred[]{:T(512)} custom-call(%p.5), custom_call_target="More"
}

%short (x.6: f32[8]) -> f32[8] {
  ROOT %x.6 = f32[8]{0:T(128)} parameter(0)
}

%long (x.7: f32[8]) -> f32[8] {
  %x.7 = f32[8]{0:T(128)} parameter(0)
  ROOT %sine = f32[8]{0:T(128)} sine(%x.7)
}

ENTRY %main (x.8: f32[8]) -> f32[8] {
  %x.8 = f32[8]{0:T(128)} parameter(0)
  %two = s32[]{:T(128)} constant(2)
  %two.1 = s32[]{:T(128)} copy(%two)
  %start.8 = (s32[]{:T(128)}, f32[8]{0:T(128)}) tuple(%two.1, %x.8)
  %outer = (s32[]{:T(128)}, f32[8]{0:T(128)}) while(%start.8), condition=%outer_condition, \
body=%outer_body
  %y.8 = f32[8]{0:T(128)} get-tuple-element(%outer), index=1
  %start.9 = (f32[8]{0:T(128)}) tuple(%y.8)
  %known = (f32[8]{0:T(128)}) while(%start.9), condition=%unknown_condition, body=%known_body, \
backend_config={"known_trip_count":{"n":"7"}}
  %unknown = (f32[8]{0:T(128)}) while(%known), condition=%unknown_condition, body=%known_body
  %z = f32[8]{0:T(128)} get-tuple-element(%unknown), index=0
  %which = pred[]{:T(512)} constant(true)
  %branch = f32[8]{0:T(128)} conditional(%which, %z, %z), true_computation=%short, \
false_computation=%long
  ROOT %called = f32[8]{0:T(128)} call(%branch), to_apply=%long
}
"""

# One of every kind of collective, in all forms that groups are written in.
COLLECTIVES = """\
HloModule collectives, is_scheduled=true, num_partitions=8

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[]{:T(128)} parameter(0)
  %b = f32[]{:T(128)} parameter(1)
  ROOT %sum = f32[]{:T(128)} add(%a, %b)
}

%all-reduce-scatter (input: f32[1000,128]) -> f32[256,128] {
  %input = f32[1000,128]{1,0:T(8,128)} parameter(0)
  %zero = f32[] constant(0)
  %pad = f32[1024,128]{1,0:T(8,128)} pad(%input, %zero), padding=0_24x0_0
  %all-reduce.1 = f32[1024,128]{1,0:T(8,128)} all-reduce(%pad), channel_id=3, \
replica_groups={{0,1,2,3},{4,5,6,7}}, to_apply=%add
  %none = u32[] constant(0)
  ROOT %slice = f32[256,128]{1,0:T(8,128)} dynamic-slice(%all-reduce.1, %none, %none), \
dynamic_slice_sizes={256,128}
}

%chain_start (piece: bf16[64,128]) -> (bf16[64,128], bf16[512,128]) {
  %piece = bf16[64,128]{1,0:T(8,128)(2,1)} parameter(0)
  %gather.1 = bf16[512,128]{1,0:T(8,128)(2,1)} all-gather(%piece), channel_id=4, \
replica_groups=mesh['axis_0'=1,'axis_1'=8] {'axis_1'}, dimensions={0}, \
frontend_attributes={chain_id="0"}
  ROOT %started = (bf16[64,128]{1,0:T(8,128)(2,1)}, bf16[512,128]{1,0:T(8,128)(2,1)}) \
custom-call(%gather.1), custom_call_target="AsyncCollectiveStart"
}

%chain_done (piece.1: bf16[64,128], whole: bf16[512,128]) -> bf16[512,128] {
  %piece.1 = bf16[64,128]{1,0:T(8,128)(2,1)} parameter(0)
  %whole = bf16[512,128]{1,0:T(8,128)(2,1)} parameter(1)
  %gather.2 = bf16[512,128]{1,0:T(8,128)(2,1)} all-gather(%piece.1), channel_id=4, \
replica_groups=mesh['axis_0'=1,'axis_1'=8] {'axis_1'}, dimensions={0}, \
frontend_attributes={chain_id="0"}
  ROOT %done = bf16[512,128]{1,0:T(8,128)(2,1)} custom-call(%piece.1, %whole, %gather.2), \
custom_call_target="AsyncCollectiveDone"
}

%wrapped (piece.2: f32[64,128]) -> f32[64,128] {
  %piece.2 = f32[64,128]{1,0:T(8,128)} parameter(0)
  ROOT %exchange = f32[64,128]{1,0:T(8,128)} all-to-all(%piece.2), channel_id=5, \
replica_groups=[2,4]<=[8], dimensions={0}
}

%body (p: (s32[], f32[1000,128], bf16[64,128])) -> (s32[], f32[1000,128], bf16[64,128]) {
  %p = (s32[]{:T(128)}, f32[1000,128]{1,0:T(8,128)}, bf16[64,128]{1,0:T(8,128)(2,1)}) parameter(0)
  %i = s32[]{:T(128)} get-tuple-element(%p), index=0
  %big = f32[1000,128]{1,0:T(8,128)} get-tuple-element(%p), index=1
  %small = bf16[64,128]{1,0:T(8,128)(2,1)} get-tuple-element(%p), index=2
  %scattered = f32[256,128]{1,0:T(8,128)} fusion(%big), kind=kCustom, calls=%all-reduce-scatter
  %async-collective-start = (bf16[64,128]{1,0:T(8,128)(2,1)}, bf16[512,128]{1,0:T(8,128)(2,1)}) \
fusion(%small), kind=kCustom, calls=%chain_start
  %first = bf16[64,128]{1,0:T(8,128)(2,1)} get-tuple-element(%async-collective-start), index=0
  %second = bf16[512,128]{1,0:T(8,128)(2,1)} get-tuple-element(%async-collective-start), index=1
  %async-collective-done = bf16[512,128]{1,0:T(8,128)(2,1)} fusion(%first, %second), \
kind=kCustom, calls=%chain_done
  %one = s32[]{:T(128)} constant(1)
  %next = s32[]{:T(128)} add(%i, %one)
  ROOT %t = (s32[]{:T(128)}, f32[1000,128]{1,0:T(8,128)}, bf16[64,128]{1,0:T(8,128)(2,1)}) \
tuple(%next, %big, %small)
}

%condition (p.1: (s32[], f32[1000,128], bf16[64,128])) -> pred[] {
  %p.1 = (s32[]{:T(128)}, f32[1000,128]{1,0:T(8,128)}, bf16[64,128]{1,0:T(8,128)(2,1)}) parameter(0)
  %i.1 = s32[]{:T(128)} get-tuple-element(%p.1), index=0
  %limit = s32[]{:T(128)} constant(3)
  ROOT %less = pred[]{:T(512)} compare(%i.1, %limit), direction=LT
}

ENTRY %main (x: f32[1000,128], w: bf16[64,128], v: f32[64,128]) -> f32[64,128] {
  %x = f32[1000,128]{1,0:T(8,128)} parameter(0)
  %w = bf16[64,128]{1,0:T(8,128)(2,1)} parameter(1)
  %v = f32[64,128]{1,0:T(8,128)} parameter(2)
  %start = s32[]{:T(128)} constant(0)
  %state = (s32[]{:T(128)}, f32[1000,128]{1,0:T(8,128)}, bf16[64,128]{1,0:T(8,128)(2,1)}) \
tuple(%start, %x, %w)
  %loop = (s32[]{:T(128)}, f32[1000,128]{1,0:T(8,128)}, bf16[64,128]{1,0:T(8,128)(2,1)}) \
while(%state), condition=%condition, body=%body
  %both = (f32[64,128]{1,0:T(8,128)}, bf16[64,128]{1,0:T(8,128)(2,1)}) all-reduce(%v, %w), \
channel_id=6, replica_groups={{0,4},{1,5},{2,6},{3,7}}, to_apply=%add
  %reduce = f32[8,128]{1,0:T(8,128)} reduce-scatter(%v), channel_id=7, \
replica_groups=mesh['axis_0'=2,'axis_1'=4] {'axis_0','axis_1'}, dimensions={0}, to_apply=%add
  %permute-start = (f32[64,128]{1,0:T(8,128)}, f32[64,128]{1,0:T(8,128)}, u32[]{:S(2)}) \
collective-permute-start(%v), channel_id=8, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  %permute-done = f32[64,128]{1,0:T(8,128)} collective-permute-done(%permute-start)
  %exchange-start = ((f32[64,128]{1,0:T(8,128)}), f32[64,128]{1,0:T(8,128)}, s32[]{:S(2)}) \
async-start(%v), calls=%wrapped
  %exchange-done = f32[64,128]{1,0:T(8,128)} async-done(%exchange-start)
  %everything = f32[64,128]{1,0:T(8,128)} all-reduce(%v), channel_id=9, replica_groups={}, \
to_apply=%add
  ROOT %whole.1 = f32[64,128]{1,0:T(8,128)} copy(%everything)
}
"""

# Fusions that read slices and write updates in place, a kernel and copies to the chip.
TRAFFIC = """\
HloModule traffic, is_scheduled=true

%slices (table: f32[1000,128], row: s32[], on_chip: f32[128]) -> f32[1,128] {
  %table = f32[1000,128]{1,0:T(8,128)} parameter(0)
  %same = f32[1000,128]{1,0:T(8,128)} bitcast(%table)
  %row = s32[]{:S(6)} parameter(1)
  %zero = s32[] constant(0)
  %taken = f32[1,128]{1,0:T(8,128)} dynamic-slice(%same, %row, %zero), dynamic_slice_sizes={1,128}
  %on_chip = f32[128]{0:T(128)S(1)} parameter(2)
  %wide = f32[1,128]{1,0:T(8,128)} bitcast(%on_chip)
  ROOT %sum = f32[1,128]{1,0:T(8,128)} add(%taken, %wide)
}

%updates (stack: f32[12,64,128], new: f32[1,64,128], index: s32[]) -> f32[12,64,128] {
  %stack = f32[12,64,128]{2,1,0:T(8,128)} parameter(0)
  %new = f32[1,64,128]{2,1,0:T(8,128)} parameter(1)
  %index = s32[]{:S(6)} parameter(2)
  %zero.1 = s32[] constant(0)
  ROOT %updated = f32[12,64,128]{2,1,0:T(8,128)} dynamic-update-slice(%stack, %new, %index, \
%zero.1, %zero.1)
}

ENTRY %main (table.1: f32[1000,128], stack.1: f32[12,64,128], new.1: f32[1,64,128]) -> f32[1,128] {
  %table.1 = f32[1000,128]{1,0:T(8,128)} parameter(0)
  %stack.1 = f32[12,64,128]{2,1,0:T(8,128)} parameter(1)
  %new.1 = f32[1,64,128]{2,1,0:T(8,128)} parameter(2)
  %three = s32[]{:S(6)} constant(3)
  %copy-start = (f32[128]{0:T(128)S(1)}, f32[128]{0:T(128)}, u32[]{:S(2)}) copy-start(%table.1)
  %copy-done = f32[128]{0:T(128)S(1)} copy-done(%copy-start)
  %sliced = f32[1,128]{1,0:T(8,128)} fusion(%table.1, %three, %copy-done), kind=kLoop, \
calls=%slices, backend_config={"window_config":{"estimated_cycles":"1000",\
"iteration_bounds":["2","3"]}}
  %stacked = f32[12,64,128]{2,1,0:T(8,128)} fusion(%stack.1, %new.1, %three), kind=kLoop, \
calls=%updates, backend_config={"window_config":{"estimated_cycles":"2000"}}
  %kernel = (f32[12,64,128]{2,1,0:T(8,128)}, f32[8]{0:T(128)S(1)}) custom-call(%stacked), \
custom_call_target="tpu_custom_call"
  %left = f32[12,64,128]{2,1,0:T(8,128)} get-tuple-element(%kernel), index=0
  %joined = f32[1,128]{1,0:T(8,128)} custom-call(%sliced), custom_call_target="ConcatBitcast"
  ROOT %out = f32[1,128]{1,0:T(8,128)} copy(%joined)
}
"""

SCATTER = """\
HloModule scatter, is_scheduled=true

%writes (table: f32[1000,128], ids: s32[8], rows: f32[8,128]) -> f32[1000,128] {
  %table = f32[1000,128]{1,0:T(8,128)} parameter(0)
  %ids = s32[8]{0:T(128)} parameter(1)
  %rows = f32[8,128]{1,0:T(8,128)} parameter(2)
  %same = f32[8,128]{1,0:T(8,128)} reshape(%rows)
  ROOT %written = f32[1000,128]{1,0:T(8,128)} scatter(%table, %ids, %same), \
update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}
}

ENTRY %main (table.1: f32[1000,128], ids.1: s32[8], rows.1: f32[8,128]) -> f32[1000,128] {
  %table.1 = f32[1000,128]{1,0:T(8,128)} parameter(0)
  %ids.1 = s32[8]{0:T(128)} parameter(1)
  %rows.1 = f32[8,128]{1,0:T(8,128)} parameter(2)
  %fused = f32[1000,128]{1,0:T(8,128)} fusion(%table.1, %ids.1, %rows.1), kind=kCustom, \
calls=%writes
  ROOT %alone = f32[1000,128]{1,0:T(8,128)} scatter(%fused, %ids.1, %rows.1), \
update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}
}
"""

SLICES = """\
HloModule slices, is_scheduled=true, num_partitions=8

ENTRY %main (part: f32[1024,256], loss: f32[]) -> f32[1024,256] {
  %part = f32[1024,256]{1,0:T(8,128)} parameter(0)
  %loss = f32[]{:T(128)} parameter(1)
  %start = token[] after-all()
  %send = (f32[1024,256]{1,0:T(8,128)}, u32[]{:S(2)}, token[]) send(%part, %start), channel_id=1, \
is_host_transfer=true, frontend_attributes={_xla_megascale_reduce_operation="SUM",\
_xla_megascale_transfer_type="ALL_REDUCE"}
  %send-done = token[] send-done(%send), channel_id=1, is_host_transfer=true
  %gather = (f32[]{:T(128)}, u32[]{:S(2)}, token[]) send(%loss, %start), channel_id=2, \
is_host_transfer=true, frontend_attributes={_xla_megascale_transfer_type="ALL_GATHER"}
  %log = (f32[]{:T(128)}, u32[]{:S(2)}, token[]) send(%loss, %start), channel_id=3, \
is_host_transfer=true, frontend_attributes={_xla_host_transfer_handler_name="tf"}
  ROOT %copy = f32[1024,256]{1,0:T(8,128)} copy(%part)
}
"""
