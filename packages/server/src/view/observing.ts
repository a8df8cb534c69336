/** Reports tasks to observers and views. */
export { add as addTaskSource, type OpenTask, type ParkedByState, type TaskSource } from "../request/TaskSource.ts"
export { combine as combineObservers, current as currentObserver } from "./allObservers.ts"
