"use strict";

// The attention of the text, by layer, head and kind of query.

async function showAttention() {
  const [layer, head] = ["layer", "head"].map((id) => byId(id).value);
  const request = { text: textOf(), model: byId("attention-model").value, layer: Number(layer) };
  request.head = head === "mean" ? null : Number(head);
  request.spans = state.spans.map((found) => [found.start, found.end]);
  if (!request.text.trim()) return byId("tokens").replaceChildren();
  try {
    const found = await ask("/attention", request);
    drawTokens(found);
    byId("attention-note").textContent = "Point at a token, or choose it, to see what it reads.";
  } catch (fault) {
    byId("tokens").replaceChildren();
    byId("attention-note").textContent = fault.message;
  }
}

function drawTokens(found) {
  const kind = byId("kind").value;
  const isWord = (number) => number < found.words;
  const [query, key] = kind ? kind.split(" → ") : ["", ""];
  const fits = (name, number) => !name || (name === "word") === isWord(number);
  const buttons = found.tokens.map((token, number) => {
    const made = element("button", { type: "button", className: "token", textContent: token });
    if (!isWord(number)) made.classList.add("entity");
    made.disabled = !fits(query, number);
    const point = () => {
      const weights = found.weights[number];
      const most = Math.max(...weights);
      buttons.forEach((button, i) => {
        const share = fits(key, i) ? weights[i] / most : 0;
        button.style.setProperty("--share", Math.sqrt(share).toFixed(3));
        button.setAttribute("aria-pressed", String(i === number));
        button.title = weights[i].toFixed(3);
      });
      const order = weights.map((_, i) => i).filter((i) => fits(key, i));
      order.sort((one, other) => weights[other] - weights[one]);
      const best = order.slice(0, 3).map((i) => `${found.tokens[i]} ${weights[i].toFixed(2)}`);
      byId("attention-note").textContent = `${token} reads ${best.join(", ")}`;
    };
    made.addEventListener("pointerenter", point);
    made.addEventListener("focus", point);
    return made;
  });
  byId("tokens").replaceChildren(...buttons);
}
