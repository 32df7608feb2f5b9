//! Promises of the command line, shown on the program itself. One file per promise.
#![cfg(test)]

mod case_bad_input;
mod case_child;
mod case_durable;
mod case_ground;
mod case_output;
mod case_queue;
mod case_resource;
mod case_secret;
mod case_state;
mod case_tree;
mod case_use;
mod case_wait;
mod cli_act;
mod cli_bad_input;
mod cli_look;
mod cli_program;
mod cli_run;
mod mcp_cases;
mod mcp_client;
mod mcp_frames;
mod mcp_fuzz;
mod mcp_host;
mod mcp_kill;
mod mcp_life;
mod mcp_policy;
mod mcp_resources;
mod mcp_tasks;
mod mcp_tools;
mod speed;
