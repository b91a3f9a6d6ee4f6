//! The program as users run it: its options, files, reports and pages, and the stream from one end to the other.

mod cameras;
mod capture;
mod clocks;
mod decoder;
mod demo;
mod demo_page;
mod documents;
mod energy;
mod exit_codes;
mod files;
mod group_carriers;
mod groups;
mod latency;
mod quic;
mod relays;
mod reports;
mod secrets;
mod selection;
mod shape;
mod slow_viewer;
mod stages;
mod study_suites;
mod suites;
mod udp;
mod viewers;
mod web;
