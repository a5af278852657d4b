# What the module takes of the reference policy and Fedora's has under another name, or not at all. install.sh lays this before the
# module where the policy is Fedora's: there the engine and its monitors are one domain.
define(`sandkeep_engine',`container_runtime_t')
define(`sandkeep_monitor',`container_runtime_t')
define(`sandkeep_engine_run',`container_var_run_t')
define(`sandkeep_settings',`init_var_run_t')

define(`files_runtime_file',`files_pid_file($1)')
define(`files_search_runtime',`files_search_pids($1)')
define(`init_search_runtime',`init_search_pid_dirs($1)')
define(`init_rw_inherited_stream_socket',`init_rw_stream_sockets($1)')
define(`userdom_search_user_runtime_root',`userdom_search_user_tmp_dirs($1)')
define(`podman_domtrans',`container_runtime_domtrans($1)')

# The load of the machine lies in proc itself.
define(`kernel_read_psi',`kernel_read_system_state($1)')

define(`container_search_var_lib',`container_search_lib($1)')
define(`container_read_runtime_files',`container_read_pid_files($1)')
define(`container_search_runtime',`container_read_pid_files($1)')
define(`container_list_ro_dirs',`container_read_share_files($1)')
define(`container_read_all_container_state',`container_read_state($1)')
define(`container_read_all_container_engine_state',`ps_process_pattern($1, container_runtime_t)')
define(`container_search_config',`gen_require(`type container_config_t;') allow $1 container_config_t:dir search_dir_perms;')
define(`container_read_config',`gen_require(`type container_config_t;') read_files_pattern($1, container_config_t, container_config_t)')
define(`container_getattr_fs',`allow $1 container_file_t:filesystem getattr;')
define(`container_ioctl_files',`allow $1 container_file_t:file ioctl;')
define(`container_manage_lnk_files',`manage_lnk_files_pattern($1, container_file_t, container_file_t)')
define(`container_manage_fifo_files',`manage_fifo_files_pattern($1, container_file_t, container_file_t)')
define(`container_manage_sock_files',`manage_sock_files_pattern($1, container_file_t, container_file_t)')
