export * as Journal from "./store/Journal.ts"
export * as Task from "./model/Task.ts"
export * as TaskStore from "./store/TaskStore.ts"
export * as Tasks from "./Tasks.ts"
