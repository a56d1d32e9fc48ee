"""Layers: pure functions of (parameters, inputs), as flax.linen modules.

One letter an axis, here and everywhere:

  B batch                 N attention heads        V words in the vocabulary
  W words                 H width of a head        U entities in the vocabulary
  E entities              D width of the model     K width of an entity embedding
  T tokens, W + E         F feed-forward width     L layers
  M word positions of a mention                    C labels, or choices

Words come first and entities after them wherever the two are joined. Shapes are types of jaxtyping:
`Float[Array, "B T D"]`; a leading space, " B", is for one axis, and `*tokens` for any number.
"""
