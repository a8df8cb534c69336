/** Tracks requests in flight: by key, by caller, by deadline, and their fibers. `BoundedMap` limits how many are remembered. */
export { BusyMap, BusySet } from "./BusyMap.ts"
export { type Bounds, boundsOf, firstOfHeaviest, oldestOfHeaviest, Shares } from "./Shares.ts"
export { DeadlineQueue, Deadlines, type Entries, type Fork } from "./Deadlines.ts"
export { Fibers } from "./Fibers.ts"
export { BoundedMap } from "./BoundedMap.ts"
