// Package inspect says what this machine is and what it can do: labench doctor, list and peak.
//
// Findings are the facts, doctor finds them, diagnose says what slows the machine down, and doctor_json writes both for programs.
package inspect
