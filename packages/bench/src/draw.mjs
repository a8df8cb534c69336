// A Vega-Lite specification as SVG, without a browser. Untyped, and loaded when something is drawn: the types alone are larger than
// everything else here.
import * as vega from "vega"
import { compile } from "vega-lite"

export const draw = (specification) => {
  const { spec } = compile(specification)
  return new vega.View(vega.parse(spec), { renderer: "none" }).toSVG()
}
