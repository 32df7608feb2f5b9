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
mod contain_bait;
mod contain_escape;
mod contain_ground;
mod contain_honest;
mod contain_life;
mod contain_network;
mod contain_told;
mod contain_use;
mod mcp_client;
mod mcp_life;
mod mcp_tools;
mod speed;
