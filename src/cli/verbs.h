// The verbs of the command, a file each. A verb adds itself to the app; when it was called it leaves its exit code, or
// throws.
#pragma once

namespace CLI {
class App;
}

namespace gradwire {

void add_compare_verb(CLI::App& app, int& exit_code);
void add_analyze_verb(CLI::App& app, int& exit_code);
void add_doctor_verb(CLI::App& app, int& exit_code);  // exit code 3: it found something
void add_watch_verb(CLI::App& app, int& exit_code);   // exit code: that of what was watched
void add_train_verb(CLI::App& app, int& exit_code);   // and the hidden `train-rank`, which mpirun starts
void add_bench_verb(CLI::App& app,
                    int& exit_code);  // and the hidden `bench-rank`, which its rank processes run
void add_plan_verb(CLI::App& app, int& exit_code);
void add_page_verb(CLI::App& app, int& exit_code);
void add_run_verb(CLI::App& app, int& exit_code);
void add_topo_verb(CLI::App& app, int& exit_code);
void add_list_verb(CLI::App& app, int& exit_code);
void add_validate_verb(CLI::App& app, int& exit_code);
void add_describe_verb(CLI::App& app,
                       int& exit_code);  // hidden: writes shell completions and manual pages to a folder

}  // namespace gradwire
