export * as Admin from "./admin/Admin.ts"
export * as Audit from "./audit/Audit.ts"
export * as Health from "./health/Health.ts"
export * as Telemetry from "./telemetry/Telemetry.ts"
