/** The tools of the reference server, in the order of its list. */
export const toolNames: Array<string> = [
  "test_simple_text",
  "test_image_content",
  "test_audio_content",
  "test_embedded_resource",
  "test_multiple_content_types",
  "test_tool_with_logging",
  "test_tool_with_progress",
  "test_error_handling",
  "test_reconnection",
  "json_schema_2020_12_tool",
  "test_sampling",
  "test_elicitation",
  "test_elicitation_sep1034_defaults",
  "test_elicitation_sep1330_enums",
  "visit",
  "roots",
  "echo",
  "add",
  "route",
  "slow",
  "big",
  "fail",
  "log",
  "touch",
  "grow",
  "test_input_required_result_elicitation",
  "test_input_required_result_sampling",
  "test_input_required_result_list_roots",
  "test_input_required_result_request_state",
  "test_input_required_result_multiple_inputs",
  "test_input_required_result_multi_round",
  "test_input_required_result_tampered_state",
  "test_input_required_result_capabilities",
  "test_missing_capability",
  "test_streaming_elicitation",
  "test_logging_tool",
  "test_trigger_tool_change",
  "test_trigger_prompt_change",
  "greet",
  "slow_compute",
  "failing_job",
  "protocol_error_job",
  "confirm_delete",
  "multi_input",
  "test_tool_with_task"
]

/** Tools that only run as a task. */
export const taskOnlyTools: ReadonlyArray<string> = ["failing_job", "test_tool_with_task"]

/** The names seen by a client without tasks. */
export const inlineTools: ReadonlyArray<string> = toolNames.filter((name) => !taskOnlyTools.includes(name))
