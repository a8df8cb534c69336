/**
 * All features of the workspace server. They require the folder: a `Workspace`
 * and its `Watcher`.
 */
import * as Layer from "effect/Layer"
import * as ClientRoots from "./ClientRoots.ts"
import * as Files from "./Files.ts"
import * as Renaming from "./Renaming.ts"
import * as Reviewing from "./Reviewing.ts"
import * as Search from "./Search.ts"
import * as Summary from "./Summary.ts"

export const features = Layer.mergeAll(
  ClientRoots.layerAsking,
  Files.layer,
  Search.layer,
  Summary.layer,
  Renaming.layer,
  Reviewing.layer
).pipe(Layer.provide(ClientRoots.ClientRoots.layer))
