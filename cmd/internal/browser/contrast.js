// The contrast of every piece of text that the page shows: the formula of relative
// luminance and contrast ratio of WCAG 2.2, on computed colours laid over each other.
(() => {
  const channels = text => {
    const m = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(text);
    if (!m) throw new Error("a colour that is not rgb(): " + text);
    return [+m[1], +m[2], +m[3], m[4] === undefined ? 1 : +m[4]];
  };
  const over = (top, below) => [0, 1, 2].map(i => top[3] * top[i] + (1 - top[3]) * below[i]).concat(1);
  const linear = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const shown = c => "rgb(" + c.slice(0, 3).map(Math.round).join(", ") + ")";

  // behind returns what an element is painted on, or null where nothing is opaque.
  const behind = element => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const layer = channels(getComputedStyle(e).backgroundColor);
      layers.push(layer);
      if (layer[3] === 1) return layers.reduceRight((below, top) => over(top, below));
    }
    return null;
  };
  const ink = element => {
    const style = getComputedStyle(element);
    const colour = channels(element instanceof SVGElement ? style.fill : style.color);
    for (let e = element; e; e = e.parentElement) colour[3] *= +getComputedStyle(e).opacity;
    return colour;
  };

  const texts = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.data.trim(), element = walk.currentNode.parentElement;
    if (!text || !element.checkVisibility({ visibilityProperty: true }) || !element.getClientRects().length) continue;
    if (element instanceof SVGElement && getComputedStyle(element).fill === "none") continue;
    const background = behind(element);
    const colour = background && over(ink(element), background);
    const [low, high] = background ? [luminance(colour), luminance(background)].sort((a, b) => a - b) : [1, 0];
    texts.push({
      text,
      element: element.tagName.toLowerCase() + [...element.classList].map(c => "." + c).join(""),
      foreground: colour ? shown(colour) : "",
      background: background ? shown(background) : "",
      ratio: background ? (high + 0.05) / (low + 0.05) : 0,
    });
  }
  return texts;
})()
