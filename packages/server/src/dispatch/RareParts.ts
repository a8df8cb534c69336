/**
 * What few servers use, as one module that is loaded when the first of them does.
 *
 * One module, since a bundler puts what several such modules share with the start into files of their own: each is compressed alone, and
 * they made the start of a small server larger than what it left out.
 */
export { ask as askAsTask } from "@effect-mcp/core/internal/AskedTask"
export { Settling } from "../features/Settling.ts"
export { SharedUpdates } from "../features/SharedUpdates.ts"
export { layerRandom } from "../mrtr/AeadSeal.ts"
export { readContract } from "../view/readContract.ts"
export { RequestReader } from "../view/RequestReader.ts"
